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

struct list {
	long first, second, third;
};

/* given back where the caller says */
__attribute__((noinline)) list pack(int n, const item *i)
{
	asm volatile("");
	return { n, i->price, 3 };
}

struct owner {
	int number;
	~owner() { asm volatile(""); }
};

/* given by its address, since it has a destructor */
__attribute__((noinline)) int number(owner o, int more)
{
	asm volatile("");
	return o.number + more;
}

__attribute__((noinline)) int wide(__int128 w, int behind)
{
	asm volatile("");
	return (int)w + behind;
}

struct point {
	double x;
	long n;
};

/* in registers of both kinds */
__attribute__((noinline)) int mixed(point p, int behind)
{
	asm volatile("");
	return (int)p.x + (int)p.n + behind;
}

__attribute__((noinline)) double half(double x, int n)
{
	asm volatile("");
	return x / 2 + n;
}
}

int main()
{
	shop::item i{ 7 };

	std::printf("shop::item::total(this=%p, count=3, what=NULL) = %d\n", (void *)&i, i.total(3, nullptr));
	std::printf("shop::pick(i=%p, cheap=true, n=-5) = %ld\n", (void *)&i, shop::pick(i, true, -5));
	std::printf("shop::pick(i=%p, cheap=false, n=300) = %ld\n", (void *)&i, shop::pick(i, false, 300));
	shop::list l = shop::pack(-9, &i);
	std::printf("shop::pack((result)=%p, n=-9, i=%p)\n", (void *)&l, (void *)&i);
	std::printf("shop::number(o=?, more=5) = %d\n", shop::number(shop::owner{ 4 }, 5));
	std::printf("shop::wide(w=?, behind=6) = %d\n", shop::wide(7, 6));
	std::printf("shop::mixed(registers) = %d\n", shop::mixed({ 2.5, 40 }, 8));
	double half = shop::half(3.0, 11);
	std::printf("shop::half(x=3, n=11) = %g\n", half);
	return l.first == (long)half;
}
