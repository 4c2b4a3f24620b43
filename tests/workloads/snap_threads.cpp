/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that do different things until they are killed, to be looked at while they do: sort with
 * a comparison callback, recurse deeply, throw, wait on a condition, sleep, format. */
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{
std::mutex lock;
std::condition_variable changed;
volatile long sink;

void sort_for_ever()
{
	std::vector<std::string> words;

	for (int i = 0; i < 500; i++)
		words.push_back(std::to_string(i * 7919 % 1000));
	for (;;) {
		std::vector<std::string> copy = words;

		std::sort(copy.begin(), copy.end(),
			  [](const std::string &a, const std::string &b) { return a > b; });
		sink = sink + static_cast<long>(copy.front().size());
	}
}

__attribute__((noinline)) long descend(int depth, const std::function<long(int)> &leaf)
{
	long value = depth ? descend(depth - 1, leaf) : leaf(depth);

	return value + sink;
}

void recurse_for_ever()
{
	for (;;)
		sink = descend(400, [](int depth) { return depth + sink; });
}

void throw_for_ever()
{
	for (;;) {
		try {
			descend(5, [](int) -> long { throw std::runtime_error("again"); });
		} catch (const std::exception &error) {
			sink = sink + static_cast<long>(std::string(error.what()).size());
		}
	}
}

void format_for_ever()
{
	for (long i = 0;; i++) {
		std::ostringstream out;

		out << i << ' ' << static_cast<double>(i) / 7;
		sink = sink + static_cast<long>(out.str().size());
	}
}

void wait_for_ever()
{
	std::unique_lock<std::mutex> held(lock);

	for (;;)
		changed.wait(held);
}

void sleep_for_ever()
{
	for (;;)
		std::this_thread::sleep_for(std::chrono::milliseconds(2));
}
} /* namespace */

int main()
{
	for (auto *body :
	     {sort_for_ever, recurse_for_ever, throw_for_ever, format_for_ever, wait_for_ever})
		std::thread(body).detach();
	sleep_for_ever();
}
