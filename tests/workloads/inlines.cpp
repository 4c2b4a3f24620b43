/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose optimised code is mostly inlined: containers, algorithms, lambdas, a local class,
 * exceptions. Only its debugging information is looked at. */
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace shapes
{
template <int Corners> struct polygon {
	long sides[Corners];
	std::string name;

	long around() const
	{
		return std::accumulate(sides, sides + Corners, 0L);
	}

	bool operator<(const polygon &other) const
	{
		return around() < other.around() || name < other.name;
	}
};

template <int Corners> polygon<Corners> make(long seed)
{
	polygon<Corners> shape;

	for (long &side : shape.sides)
		side = seed = seed * 1103515245 % 65521 + 1;
	shape.name = std::to_string(seed);
	return shape;
}

template <int Corners> long sorted(long count)
{
	std::vector<polygon<Corners>> shapes;
	std::set<polygon<Corners>> distinct;

	for (long i = 0; i < count; i++)
		shapes.push_back(make<Corners>(i));
	std::sort(shapes.begin(), shapes.end(), [](const auto &a, const auto &b) {
		return a.around() > b.around();
	});
	for (const auto &shape : shapes)
		distinct.insert(shape);
	return distinct.empty() ? 0 : distinct.begin()->around();
}
} // namespace shapes

static long by_name(long count)
{
	struct counter {
		std::map<std::string, std::shared_ptr<long>> counts;

		void add(const std::string &name)
		{
			std::shared_ptr<long> &slot = counts[name];

			if (!slot)
				slot = std::make_shared<long>(0);
			if (++*slot > 1000)
				throw std::runtime_error(name);
		}
	} counter;
	long total = 0;

	for (long i = 0; i < count; i++)
		counter.add(std::to_string(i % 7));
	for (const auto &[name, value] : counter.counts)
		total += *value * static_cast<long>(name.size());
	return total;
}

int main(int argc, char **)
{
	try {
		std::printf("%ld\n", shapes::sorted<3>(argc) + shapes::sorted<5>(argc) +
					     shapes::sorted<8>(argc) + by_name(argc));
	} catch (const std::exception &error) {
		return 1;
	}
	return 0;
}
