/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The same as given.c, of C++: members, references, a namespace. */
#include <cstdio>

namespace shop {
struct item {
	int price;

	__attribute__((noinline)) int total(unsigned count, const char *what) const
	{
		asm volatile("");
		return price * (int)count + (what ? 1 : 0);
	}
};

__attribute__((noinline)) long pick(const item &i, bool cheap, short n)
{
	asm volatile("");
	return i.price + cheap + n;
}
}

int main()
{
	shop::item i{ 7 };

	std::printf("shop::item::total(this=%p, count=3, what=NULL) = %d\n", (void *)&i, i.total(3, nullptr));
	std::printf("shop::pick(i=%p, cheap=true, n=-5) = %ld\n", (void *)&i, shop::pick(i, true, -5));
	std::printf("shop::pick(i=%p, cheap=false, n=300) = %ld\n", (void *)&i, shop::pick(i, false, 300));
	return 0;
}
