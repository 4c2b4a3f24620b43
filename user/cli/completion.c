/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each script finds the command of the line (record where none is named), and completes by the kind
 * of what comes next:
 *
 *	a command	the second word; its summary beside it, where the shell shows such
 *	an option	of the command's table and of opts_common
 *	a value		files, the table's choices (as a comma list of them too), or nothing
 *	anything else	files
 */
#include "cli/completion.h"

#include <string.h>

const struct opt_choice completion_shells[] = {
	{"bash", COMPLETION_BASH},
	{"zsh", COMPLETION_ZSH},
	{"fish", COMPLETION_FISH},
	{NULL},
};

/* @write for every option of @spec's command line. */
static void each_option(const struct opts_spec *spec,
			void (*write)(const struct opts_spec *spec, const struct opt *opt,
				      struct buf *out),
			struct buf *out)
{
	const struct opt *const tables[] = {spec->options, opts_common};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct opt *opt = tables[i]; opt->kind != OPT_END; opt++)
			if (opt->kind != OPT_GROUP)
				write(spec, opt, out);
}

static void add_names(const struct cli_command *commands, const char *separator, struct buf *out)
{
	for (const struct cli_command *cmd = commands; cmd->spec; cmd++)
		buf_printf(out, "%s%s", cmd->spec->name, separator);
	buf_add_str(out, "help");
}

static void add_choices(const struct opt *opt, struct buf *out)
{
	for (const struct opt_choice *choice = opt->choices; choice->name; choice++)
		buf_printf(out, "%s%s", choice == opt->choices ? "" : " ", choice->name);
}

/* @text inside '', with a backslash before each byte of @special; @quote is what '' make of '. */
static void add_quoted(const char *text, const char *special, const char *quote, struct buf *out)
{
	for (; *text; text++) {
		if (*text == '\'') {
			buf_add_str(out, quote);
			continue;
		}
		if (strchr(special, *text))
			buf_add_char(out, '\\');
		buf_add_char(out, *text);
	}
}

/* --- bash --- */

/* Not as words of a command substitution: names may hold spaces. */
static const char bash_files[] = "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")";

static void add_bash_word(const struct opts_spec *spec, const struct opt *opt, struct buf *out)
{
	if (opt->short_name)
		buf_printf(out, " -%c", opt->short_name);
	if (opt->long_name)
		buf_printf(out, " --%s", opt->long_name);
}

/* A branch of `case "$command:$previous"` that fills COMPREPLY with the option's values. */
static void add_bash_value(const struct opts_spec *spec, const struct opt *opt, struct buf *out)
{
	if (opt->kind == OPT_FLAG || opt->flags & OPT_VALUE_OPTIONAL)
		return;
	buf_add_char(out, '\t');
	if (opt->short_name)
		buf_printf(out, "%s:-%c%s", spec->name, opt->short_name, opt->long_name ? "|" : "");
	if (opt->long_name)
		buf_printf(out, "%s:--%s", spec->name, opt->long_name);
	buf_add_str(out, ")\n\t\t");
	if (opt->flags & OPT_IS_FILE) {
		buf_add_str(out, bash_files);
	} else if (opt->choices) {
		buf_add_str(out, "COMPREPLY=($(compgen -W \"");
		add_choices(opt, out);
		buf_add_str(out, "\" -- \"$word\"))");
	} else {
		buf_add_str(out, "COMPREPLY=()");
	}
	buf_add_str(out, "\n\t\treturn ;;\n");
}

static void add_bash_options(const struct opts_spec *spec, struct buf *out)
{
	buf_printf(out, "\t%s:-*) COMPREPLY=($(compgen -W \"", spec->name);
	each_option(spec, add_bash_word, out);
	buf_add_str(out, "\" -- \"$word\")) ; return ;;\n");
}

static void add_bash(const struct cli_command *commands, const struct opts_spec *help,
		     struct buf *out)
{
	buf_add_str(out, "_bpfprof()\n{\n\tlocal word=\"${COMP_WORDS[COMP_CWORD]}\" "
			 "previous=\"${COMP_WORDS[COMP_CWORD-1]}\" command=record\n"
			 "\tcase \"${COMP_WORDS[1]}\" in\n\t");
	add_names(commands, "|", out);
	buf_add_str(out, ") command=\"${COMP_WORDS[1]}\" ;;\n\tesac\n"
			 "\tcase \"$command:$previous\" in\n");
	for (const struct cli_command *cmd = commands; cmd->spec; cmd++)
		each_option(cmd->spec, add_bash_value, out);
	each_option(help, add_bash_value, out);
	buf_add_str(out, "\tesac\n\tcase \"$command:$word\" in\n");
	for (const struct cli_command *cmd = commands; cmd->spec; cmd++)
		add_bash_options(cmd->spec, out);
	add_bash_options(help, out);
	buf_printf(out,
		   "\tesac\n\tCOMPREPLY=()\n\t[ \"$command\" = help ] || %s\n"
		   "\tif [ \"$COMP_CWORD\" -eq 1 ] || [ \"$command\" = help ]; then\n"
		   "\t\tCOMPREPLY+=($(compgen -W \"",
		   bash_files);
	add_names(commands, " ", out);
	buf_add_str(out, "\" -- \"$word\"))\n\tfi\n}\n"
			 "complete -o filenames -F _bpfprof bpfprof\n");
}

/* --- zsh: _arguments(1) takes '(EXCLUDED)-x+[HELP]:VALUE:ACTION' --- */

static const char zsh_quote[] = "'\\''";

static void add_zsh_spelling(const struct opt *opt, bool is_long, struct buf *out)
{
	bool has_value = opt->kind != OPT_FLAG, is_optional = opt->flags & OPT_VALUE_OPTIONAL;

	buf_add_str(out, "\t\t\t'");
	if (opt->kind == OPT_LIST || opt->kind == OPT_NUMBERS)
		buf_add_char(out, '*');
	else if (opt->short_name && opt->long_name)
		buf_printf(out, "(-%c --%s)", opt->short_name, opt->long_name);
	if (is_long)
		buf_printf(out, "--%s%s", opt->long_name,
			   !has_value	 ? ""
			   : is_optional ? "=-"
					 : "=");
	else
		buf_printf(out, "-%c%s", opt->short_name, has_value ? "+" : "");
	buf_add_char(out, '[');
	add_quoted(opt->help, "[]\\", zsh_quote, out);
	buf_add_char(out, ']');
	if (has_value) {
		buf_add_str(out, is_optional ? "::" : ":");
		add_quoted(opt->value_name, ":\\", zsh_quote, out);
		buf_add_char(out, ':');
	}
	if (opt->flags & OPT_IS_FILE) {
		buf_add_str(out, "_files");
	} else if (opt->choices) {
		buf_add_str(out, opt->kind == OPT_CHOICES ? "{_values -s , value " : "(");
		add_choices(opt, out);
		buf_add_char(out, opt->kind == OPT_CHOICES ? '}' : ')');
	} else if (has_value) {
		buf_add_char(out, ' ');
	}
	buf_add_str(out, "'\n");
}

static void add_zsh_option(const struct opts_spec *spec, const struct opt *opt, struct buf *out)
{
	if (opt->short_name)
		add_zsh_spelling(opt, false, out);
	if (opt->long_name)
		add_zsh_spelling(opt, true, out);
}

static void add_zsh_options(const struct opts_spec *spec, struct buf *out)
{
	buf_printf(out, "\t%s)\n", spec->name);
	/* What stands behind "--" is a command line of its own. */
	if (spec->take_operand)
		buf_add_str(out, "\t\tif (( behind < CURRENT )); then\n"
				 "\t\t\tshift behind words\n"
				 "\t\t\t(( CURRENT -= behind ))\n"
				 "\t\t\t_normal\n\t\t\treturn\n\t\tfi\n");
	buf_add_str(out, "\t\toptions=(\n");
	each_option(spec, add_zsh_option, out);
	buf_add_str(out, "\t\t)\n\t\t;;\n");
}

static void add_zsh(const struct cli_command *commands, const struct opts_spec *help,
		    struct buf *out)
{
	buf_add_str(out, "_bpfprof()\n{\n\tlocal command=record behind\n"
			 "\tlocal -a options commands=(\n");
	for (const struct cli_command *cmd = commands; cmd->spec; cmd++) {
		buf_printf(out, "\t\t'%s:", cmd->spec->name);
		add_quoted(cmd->spec->summary, "", zsh_quote, out);
		buf_add_str(out, "'\n");
	}
	buf_printf(out, "\t\t'%s:%s'\n\t)\n", help->name, help->summary);
	buf_add_str(out, "\tif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
			 "\t\t_describe command commands\n\t\t_files\n\t\treturn\n\tfi\n"
			 "\tif (( ${commands[(I)${(b)words[2]}:*]} )); then\n"
			 "\t\tcommand=$words[2]\n\t\tshift words\n\t\t(( CURRENT-- ))\n\tfi\n"
			 "\tbehind=${words[(i)--]}\n"
			 "\tcase $command in\n");
	for (const struct cli_command *cmd = commands; cmd->spec; cmd++)
		add_zsh_options(cmd->spec, out);
	add_zsh_options(help, out);
	buf_add_str(out, "\tesac\n"
			 "\tif [[ $command == help ]]; then\n"
			 "\t\t_arguments -s -S $options '*:command:(");
	add_names(commands, " ", out);
	buf_add_str(out, ")'\n\telse\n\t\t_arguments -s -S $options '*:file:_files'\n\tfi\n}\n"
			 "_bpfprof \"$@\"\n");
}

/* --- fish --- */

static void add_fish_text(const char *text, struct buf *out)
{
	buf_add_char(out, '\'');
	add_quoted(text, "\\", "\\'", out);
	buf_add_str(out, "'");
}

static void add_fish_option(const struct opts_spec *spec, const struct opt *opt, struct buf *out)
{
	buf_printf(out, "complete -c bpfprof -n '__bpfprof_is %s'", spec->name);
	if (opt->short_name)
		buf_printf(out, " -s %c", opt->short_name);
	if (opt->long_name)
		buf_printf(out, " -l %s", opt->long_name);
	if (opt->flags & OPT_IS_FILE)
		buf_add_str(out, " -r -F");
	else if (opt->kind != OPT_FLAG && !(opt->flags & OPT_VALUE_OPTIONAL))
		buf_add_str(out, " -x");
	if (opt->choices) {
		buf_add_str(out, opt->kind == OPT_CHOICES ? " -a '(__fish_append , " : " -a '");
		add_choices(opt, out);
		buf_add_str(out, opt->kind == OPT_CHOICES ? ")'" : "'");
	}
	buf_add_str(out, " -d ");
	add_fish_text(opt->help, out);
	buf_add_char(out, '\n');
}

static void add_fish_command(const struct opts_spec *spec, struct buf *out)
{
	buf_printf(out, "complete -c bpfprof -n __bpfprof_wants_command -a %s -d ", spec->name);
	add_fish_text(spec->summary, out);
	buf_add_char(out, '\n');
	each_option(spec, add_fish_option, out);
}

static void add_fish(const struct cli_command *commands, const struct opts_spec *help,
		     struct buf *out)
{
	buf_add_str(out, "function __bpfprof_is\n\tset -l words (commandline -opc)\n"
			 "\tset -l command record\n"
			 "\tif set -q words[2]; and contains -- $words[2] ");
	add_names(commands, " ", out);
	buf_add_str(out, "\n\t\tset command $words[2]\n\tend\n\ttest $command = $argv[1]\nend\n"
			 "function __bpfprof_wants_command\n"
			 "\ttest (count (commandline -opc)) = 1; or __bpfprof_is help\nend\n");
	for (const struct cli_command *cmd = commands; cmd->spec; cmd++)
		add_fish_command(cmd->spec, out);
	add_fish_command(help, out);
	buf_add_str(out, "complete -c bpfprof -n '__bpfprof_is help' -f\n");
}

void completion_add(enum completion_shell shell, const struct cli_command *commands,
		    const struct opts_spec *help, struct buf *out)
{
	const char *name = completion_shells[shell].name;

	if (shell == COMPLETION_ZSH)
		buf_add_str(out, "#compdef bpfprof\n");
	buf_printf(out, "# %s completion for bpfprof, made by `bpfprof help --completion %s`\n",
		   name, name);
	if (shell == COMPLETION_BASH)
		add_bash(commands, help, out);
	else if (shell == COMPLETION_ZSH)
		add_zsh(commands, help, out);
	else
		add_fish(commands, help, out);
}
