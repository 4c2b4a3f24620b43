# SPDX-License-Identifier: Apache-2.0
"""An ExportProfilesServiceRequest of opentelemetry-proto 1.11.0 (collector.profiles.v1development), by the rules of its
comments, and those that Pyroscope's and Parca's receivers enforce."""
from sink_wire import Message, need

EXPORT = {1: ("resource_profiles", "m*"), 2: ("dictionary", "m")}
DICTIONARY = {
    1: ("mapping_table", "m*"),
    2: ("location_table", "m*"),
    3: ("function_table", "m*"),
    4: ("link_table", "m*"),
    5: ("string_table", "s*"),
    6: ("attribute_table", "m*"),
    7: ("stack_table", "m*"),
}
RESOURCE_PROFILES = {1: ("resource", "m"), 2: ("scope_profiles", "m*"), 3: ("schema_url", "s")}
RESOURCE = {1: ("attributes", "m*")}
SCOPE_PROFILES = {1: ("scope", "m"), 2: ("profiles", "m*"), 3: ("schema_url", "s")}
SCOPE = {1: ("name", "s"), 2: ("version", "s")}
# key_strindex (3) is none of them: Pyroscope reads keys only where they stand.
KEY_VALUE = {1: ("key", "s"), 2: ("value", "m")}
ANY_VALUE = {1: ("string_value", "s"), 3: ("int_value", "i")}
PROFILE = {
    1: ("sample_type", "m"),
    2: ("samples", "m*"),
    3: ("time_unix_nano", "x"),
    4: ("duration_nano", "i"),
    5: ("period_type", "m"),
    6: ("period", "i"),
    7: ("profile_id", "b"),
}
VALUE_TYPE = {1: ("type", "i"), 2: ("unit", "i")}
SAMPLE = {1: ("stack_index", "i"), 2: ("attribute_indices", "i*"), 4: ("values", "i*")}
MAPPING = {1: ("start", "i"), 2: ("limit", "i"), 3: ("offset", "i"), 4: ("filename", "i"), 5: ("attributes", "i*")}
STACK = {1: ("location_indices", "i*")}
LOCATION = {1: ("mapping_index", "i"), 2: ("address", "i"), 3: ("lines", "m*"), 4: ("attributes", "i*")}
LINE = {1: ("function_index", "i"), 2: ("line", "i")}
FUNCTION = {1: ("name", "i"), 2: ("system_name", "i"), 3: ("filename", "i"), 4: ("start_line", "i")}
KEY_VALUE_UNIT = {1: ("key", "i"), 2: ("value", "m"), 3: ("unit", "i")}


class Dictionary:
    def __init__(self, data):
        top = Message(data, DICTIONARY)
        for table in ("mapping", "location", "function", "link", "attribute", "stack"):
            entries = getattr(top, table + "_table")
            need(entries and entries[0] == b"", f"{table}_table has no zero element 0")
            need(len(set(entries)) == len(entries), f"{table}_table has something twice")
        self.strings = top.string_table
        need(self.strings and self.strings[0] == "", "string_table[0] is not empty")
        need(len(set(self.strings)) == len(self.strings), "string_table has something twice")
        self.sizes = {name: len(getattr(top, name + "_table")) for name in ("attribute", "stack", "location")}
        functions = [Message(entry, FUNCTION) for entry in top.function_table]
        for function in functions[1:]:
            need(function.name or function.system_name or function.filename, "a function without a name")
            for index in (function.name, function.system_name, function.filename):
                self.text(index)
        self.attributes = [None]
        for entry in (Message(data, KEY_VALUE_UNIT) for data in top.attribute_table[1:]):
            need(entry.key and entry.value is not None, "an attribute without key or value")
            self.attributes.append((self.text(entry.key), value_of(entry.value)))
        for mapping in (Message(data, MAPPING) for data in top.mapping_table[1:]):
            self.text(mapping.filename)
            self.labels(mapping.attributes)
        for location in (Message(data, LOCATION) for data in top.location_table[1:]):
            need(0 <= location.mapping_index < len(top.mapping_table), "a mapping is missing")
            self.labels(location.attributes)
            for line in (Message(data, LINE) for data in location.lines):
                need(0 < line.function_index < len(functions), "a function is missing")
        for stack in (Message(data, STACK) for data in top.stack_table[1:]):
            need(all(0 < index < self.sizes["location"] for index in stack.location_indices), "a location is missing")

    def text(self, index):
        need(0 <= index < len(self.strings), f"string {index} is missing")
        return self.strings[index]

    def labels(self, indices):
        need(all(0 < index < self.sizes["attribute"] for index in indices), "an attribute is missing")
        found = dict(self.attributes[index] for index in indices)
        need(len(found) == len(indices), "an attribute has two values")
        return found

    def value_type(self, data):
        message = Message(data, VALUE_TYPE)
        return f"{self.text(message.type)}:{self.text(message.unit)}"


def value_of(data):
    value = Message(data, ANY_VALUE)
    need(value.names, "an attribute's value is nil")
    return value.string_value if "string_value" in value.names else value.int_value


def resource_of(data):
    attributes = {}
    for attribute in (Message(entry, KEY_VALUE) for entry in Message(data, RESOURCE).attributes):
        need(attribute.key and attribute.value is not None, "an attribute of a resource without key or value")
        need(attribute.key not in attributes, f"two attributes {attribute.key}")
        attributes[attribute.key] = value_of(attribute.value)
    need({"service.name", "host.name", "host.id"} <= set(attributes), f"attributes {sorted(attributes)}")
    return attributes


def name_of(dictionary, profile):
    need(profile.sample_type is not None and profile.period_type is not None, "a type is nil")
    return f"{dictionary.value_type(profile.sample_type)}:{dictionary.value_type(profile.period_type)}"


def read_profile(dictionary, attributes, profile, name, names):
    need(len(profile.profile_id) == 16 and any(profile.profile_id), "the profile's id")
    need(profile.time_unix_nano > 0 and profile.duration_nano > 0, "the time is missing")
    need(0 < len(profile.samples) <= 16000, f"{len(profile.samples)} samples")
    need(profile.period >= 0 and (profile.period == 0) == name.endswith("::"), f"period {profile.period} of {name}")
    seen, total = set(), 0
    for sample in (Message(entry, SAMPLE) for entry in profile.samples):
        need(0 < sample.stack_index < dictionary.sizes["stack"], "a stack is missing")
        need(len(sample.values) == 1, "a sample has not one value")
        labels = dictionary.labels(sample.attribute_indices)
        need("service.name" not in labels and "thread.name" in labels, f"labels {labels}")
        identity = (sample.stack_index, frozenset(sample.attribute_indices))
        need(identity not in seen, "two samples of one identity")
        seen.add(identity)
        total += sample.values[0]
    service = attributes["service.name"]
    kind, unit = name.split(":")[:2]
    sums = {f"{service} {kind}/{unit}": total}
    if name == "samples:count:cpu:nanoseconds" and "cpu:nanoseconds:cpu:nanoseconds" not in names:
        # As Pyroscope makes process_cpu of it.
        sums[f"{service} cpu/nanoseconds"] = total * profile.period
    # Pyroscope calls that cpu: process_cpu is made of the other one, which has to be there too.
    need(not name.startswith("cpu:") or name == "cpu:nanoseconds:cpu:nanoseconds", f"CPU time is {name}")
    need(not kind == "off_cpu" or name == "off_cpu:nanoseconds::", f"off-CPU is {name}")
    return profile.profile_id, (profile.time_unix_nano, name, total), sums


def read_export(body):
    """(key, content, sums) of each profile."""
    need(len(body) <= 64 << 20, "the request is too large")
    top = Message(body, EXPORT)
    need(top.resource_profiles and top.dictionary is not None, "no profiles, or no dictionary")
    dictionary = Dictionary(top.dictionary)
    places = set()
    for resource in (Message(data, RESOURCE_PROFILES) for data in top.resource_profiles):
        attributes = resource_of(resource.resource)
        need(resource.scope_profiles, "no scope")
        for scope in (Message(data, SCOPE_PROFILES) for data in resource.scope_profiles):
            need(scope.profiles, "a scope without profiles")
            need(Message(scope.scope, SCOPE).name == "bpfprof", "the scope has no name")
            profiles = [Message(data, PROFILE) for data in scope.profiles]
            names = [name_of(dictionary, profile) for profile in profiles]
            need(len(set(names)) == len(names), "two profiles of one type")
            for profile, name in zip(profiles, names):
                place = (tuple(sorted(attributes.items())), profile.time_unix_nano)
                need(place not in places, "Pyroscope takes two profiles of a nanosecond for one")
                places.add(place)
                yield read_profile(dictionary, attributes, profile, name, names)
