/* SPDX-License-Identifier: Apache-2.0 */
/* names CPU_SECONDS: C++ functions whose symbols have to be demangled: namespaces, templates,
 * operators, lambdas. */
#include "keep_frame.h"
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

#define NOINLINE __attribute__((noinline))

static volatile std::uint64_t sink;

static inline void burn()
{
	KEEP_FRAME();
	for (std::uint64_t i = 0; i < 20000; i++)
		sink = sink + i * i;
}

namespace shop
{
struct Money {
	long cents;
};

NOINLINE Money operator+(const Money &one, const Money &two)
{
	burn();
	return Money{one.cents + two.cents};
}

template <typename T, int N> struct Basket {
	T items[N];

	NOINLINE void add(T item)
	{
		burn();
		items[sink % N] = item;
	}
};

class Till
{
      public:
	virtual ~Till() = default;
	NOINLINE virtual long total(const std::string &name) const
	{
		burn();
		return static_cast<long>(name.size());
	}
};

namespace
{
NOINLINE void hidden(int value)
{
	burn();
	sink = sink + static_cast<std::uint64_t>(value);
}
} // namespace

NOINLINE void serve(Till &till, Basket<int, 8> &basket)
{
	auto wrap = [](int paper) NOINLINE {
		burn();
		return paper + 1;
	};

	basket.add(static_cast<int>(till.total("the till")));
	sink = sink + static_cast<std::uint64_t>((Money{1} + Money{2}).cents);
	hidden(wrap(1));
}
} // namespace shop

int main(int argc, char **argv)
{
	double enough_s = argc > 1 ? std::strtod(argv[1], nullptr) : 1;
	shop::Basket<int, 8> basket = {};
	shop::Till till;

	while (static_cast<double>(std::clock()) / CLOCKS_PER_SEC < enough_s)
		shop::serve(till, basket);
	return 0;
}
