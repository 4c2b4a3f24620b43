/* SPDX-License-Identifier: Apache-2.0 */
/* A load in C++: exceptions through deep stacks, virtual calls, containers, regular expressions,
 * threads. Runs until killed. */
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static volatile size_t sink;

struct Shape {
	virtual ~Shape() = default;
	virtual double area(int depth) const = 0;
};

struct Nested : Shape {
	std::unique_ptr<Shape> inner;
	double area(int depth) const override
	{
		return inner ? inner->area(depth + 1) * 1.01 : depth;
	}
};

[[gnu::noinline]] static void shapes()
{
	std::unique_ptr<Shape> top;

	for (int i = 0; i < 50; i++) {
		auto next = std::make_unique<Nested>();
		next->inner = std::move(top);
		top = std::move(next);
	}
	for (int i = 0; i < 200; i++)
		sink += static_cast<size_t>(top->area(0));
}

[[gnu::noinline]] static int thrower(int depth)
{
	std::string on_stack(static_cast<size_t>(depth) + 20, 'x');

	if (!depth)
		throw std::runtime_error(on_stack);
	return thrower(depth - 1) + static_cast<int>(on_stack.size());
}

[[gnu::noinline]] static void exceptions()
{
	/* Few: while libgcc installs a landing pad's context, it writes over the registers and the
	 * return address that the stack is to be unwound by, and no unwinder gets past that. */
	for (int i = 0; i < 6; i++) {
		try {
			thrower(i * 5);
		} catch (const std::exception &e) {
			sink += e.what()[0];
		}
	}
}

[[gnu::noinline]] static void containers()
{
	std::map<std::string, std::vector<int>> index;
	std::mt19937 random(42);

	for (int i = 0; i < 2000; i++)
		index["key" + std::to_string(random() % 300)].push_back(i);
	for (auto &[key, values] : index)
		std::sort(values.begin(), values.end(), std::greater<>());
	sink += index.size();
}

[[gnu::noinline]] static void expressions()
{
	static const std::regex pattern("([a-z]+)=([0-9]+)(;|$)");
	std::string text = "alpha=1;beta=22;gamma=333;delta=4444";
	std::ostringstream out;

	for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
		out << (*it)[1] << ':' << std::stoi((*it)[2]) << ' ';
	sink += out.str().size();
}

static void work()
{
	shapes();
	exceptions();
	containers();
	for (int i = 0; i < 20; i++)
		expressions();
}

int main()
{
	std::thread other([] {
		for (;;)
			work();
	});
	for (;;)
		work();
}
