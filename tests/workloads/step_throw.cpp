/* SPDX-License-Identifier: Apache-2.0 */
/* C++ exceptions, to be single-stepped: thrown through frames with destructors, rethrown, nested.
 */
#include <alloca.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{
volatile long sink;

struct guard {
	long value;

	explicit guard(long start) : value(start)
	{
		sink = sink + value;
	}
	~guard()
	{
		sink = sink - value;
	}
};

__attribute__((noinline)) long descend(int depth, bool is_thrown)
{
	guard here(depth);
	alignas(64) unsigned char bytes[64];

	bytes[depth] = static_cast<unsigned char>(depth);
	if (!depth) {
		if (is_thrown)
			throw std::runtime_error("bottom");
		return 1;
	}
	return descend(depth - 1, is_thrown) + bytes[depth];
}

__attribute__((noinline)) long catch_once(int depth)
{
	try {
		return descend(depth, true);
	} catch (const std::runtime_error &error) {
		return static_cast<long>(std::string(error.what()).size());
	}
}

__attribute__((noinline)) long rethrow(int depth)
{
	try {
		try {
			unsigned char *bytes =
				static_cast<unsigned char *>(alloca(depth * 16 + 16));

			bytes[0] = 1;
			return descend(depth, true) + bytes[0];
		} catch (const std::logic_error &) {
			return -1;
		} catch (...) {
			guard here(3);

			throw;
		}
	} catch (const std::exception &error) {
		return 2 + catch_once(2);
	}
}

__attribute__((noinline)) long strings(int cnt)
{
	std::vector<std::string> all;

	for (int i = 0; i < cnt; i++)
		all.push_back(std::string(static_cast<size_t>(i), 'x'));
	return static_cast<long>(all.back().size());
}
} /* namespace */

int main()
{
	if (catch_once(5) != 6 || rethrow(4) != 8 || descend(5, false) != 16)
		return 1;
	return strings(20) != 19 || sink != 0;
}
