// SPDX-License-Identifier: GPL-2.0-or-later
// Exceptions through several calls, out of constructors, and again out of a handler.
#include <stdexcept>
#include <vector>
static volatile int sink;
namespace nasty {
struct Thing {
	explicit Thing(int n) { if (n % 7 == 0) throw std::runtime_error("seventh"); sink = sink + n; }
	~Thing() { sink = sink - 1; }
};
__attribute__((noinline)) void inner(int n) { Thing t(n); if (n % 3 == 0) throw n; }
__attribute__((noinline)) void middle(int n) { std::vector<int> v(n + 1); inner(n); }
__attribute__((noinline)) void outer(int n)
{
	try { middle(n); } catch (int) { sink = sink + 1; } catch (const std::exception &) { if (n % 2) throw; }
}
}
int main()
{
	for (int i = 0; i < 300; i++)
		try { nasty::outer(i); } catch (...) { sink = sink + 2; }
}
