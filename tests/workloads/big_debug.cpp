/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One unit of the program that big_debug makes: containers, algorithms, streams and regular
 * expressions over types of its own, so that a large part of its code and of its debugging
 * information is its own. "copy0000" becomes the number of the copy in all of its names.
 */
#include <algorithm>
#include <deque>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

namespace copy0000
{
template <int Width> struct record {
	std::string key;
	long cells[Width];

	explicit record(long seed) : key(std::to_string(seed))
	{
		for (long &cell : cells)
			cell = seed = seed * 1103515245 % 65521 + 1;
	}

	long sum() const
	{
		return std::accumulate(cells, cells + Width, 0L);
	}

	bool operator<(const record &other) const
	{
		return std::tie(cells[0], key) < std::tie(other.cells[0], other.key);
	}

	bool operator==(const record &other) const
	{
		return key == other.key && std::equal(cells, cells + Width, other.cells);
	}
};

template <class Record> struct hasher {
	size_t operator()(const Record &record) const
	{
		return std::hash<std::string>()(record.key) ^ static_cast<size_t>(record.sum());
	}
};

template <int Width> struct shelf {
	using item = record<Width>;

	std::vector<item> row;
	std::deque<item> queue;
	std::list<item> chain;
	std::set<item> ordered;
	std::map<std::string, std::shared_ptr<item>> by_key;
	std::unordered_map<item, std::vector<item>, hasher<item>> groups;

	void add(long seed)
	{
		item made(seed);

		row.push_back(made);
		queue.push_front(made);
		chain.push_back(made);
		ordered.insert(made);
		by_key[made.key] = std::make_shared<item>(made);
		groups[made].push_back(std::move(made));
	}

	long settle()
	{
		std::sort(row.begin(), row.end());
		std::stable_sort(queue.begin(), queue.end(), [](const item &a, const item &b) {
			return a.sum() < b.sum();
		});
		chain.sort();
		chain.unique();
		row.erase(std::remove_if(row.begin(), row.end(),
					 [](const item &one) { return one.sum() % 3 == 0; }),
			  row.end());
		std::rotate(queue.begin(), queue.begin() + queue.size() / 2, queue.end());
		return std::accumulate(row.begin(), row.end(), 0L,
				       [](long sum, const item &one) { return sum + one.sum(); });
	}
};

template <int Width> long fill(long count)
{
	shelf<Width> all;
	std::function<void(long)> add = [&all](long seed) { all.add(seed); };

	for (long i = 0; i < count; i++)
		add(i);
	return all.settle() + static_cast<long>(all.groups.size() + all.by_key.size());
}

long match(const std::string &text)
{
	std::regex words("([a-z]+)[0-9]*");
	std::variant<long, std::string> last = 0L;
	std::ostringstream out;

	for (std::sregex_iterator at(text.begin(), text.end(), words), end; at != end; ++at) {
		last = at->str();
		out << at->str(1) << '\n';
	}
	return static_cast<long>(out.str().size() + last.index());
}

long run(long count)
{
	return fill<2>(count) + fill<3>(count) + fill<5>(count) + fill<8>(count) +
	       match("copy" + std::to_string(count));
}
} // namespace copy0000

long run_copy0000(long count)
{
	try {
		return copy0000::run(count);
	} catch (const std::exception &error) {
		std::cerr << error.what() << '\n';
		return 0;
	}
}
