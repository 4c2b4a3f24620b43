#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --wakers: below what a thread waited for stands who ended it, and where.
set -u
. tests/e2e/waits.sh

waited wakers "--wakers" --off-cpu --wakers --max-cpu 100 --by comm,tid -- sh -c 'mutex 5 & pingpong 5 & lives 5; wait'
check "with wakers, the times are the same" says wakers 'waiter|ping|lives_child|lives_parent' blocked=blocked

# woken COMM FUNCTION CAUSE WAKER-FRAMES WAKER: in 95 % of the time that COMM was blocked below FUNCTION, WAKER ended it,
# in a function WAKER-FRAMES. The waker's frames are from the leaf to the root.
woken()
{
	local all found mark='(_\[.\])*'
	all=$(samples "^$1[-;].*;$2;.*\[blocked: $3\]" wakers)
	found=$(samples "^$1[-;].*;$2;.*;\[blocked: $3\]$mark;--$mark;$4$5$mark [0-9]+\$" wakers)
	echo "$1 in $2: $found of $all woken by $5"
	is "$all > 0.02e9 && $found >= 0.95 * $all" && return
	hottest wakers
	return 1
}
mark='(_\[.\])*'
check "a mutex: the holder woke the waiter, where it unlocks" woken waiter waiter_lock futex \
	".*;holder_unlock$mark;holder_turn$mark;holder_run$mark;.*;" holder
check "a pipe: pong woke ping" woken ping ping_read pipe ".*;think_and_write$mark;pong_run$mark;main$mark;.*;" pong
check "a pipe: ping woke pong" woken pong pong_read pipe ".*;think_and_write$mark;main$mark;.*;" ping
check "a child that ends: it woke its parent" woken lives_parent parent_wait child ".*" lives_child
check "the waker's frames are marked" is \
	"$(samples ';--(_\[w\])?;.*;holder_unlock_\[w\];.*;holder(_\[w\])? [0-9]+$' wakers) > 0.5 * $(truth wakers blocked_in_calls waiter)"
check "nobody was woken at a pipe by who has none" has_no '^[^;]*;.*\[blocked: pipe\](_\[.\])*;--.*;(holder|waiter|lives_.*)(_\[w\])? ' wakers

waited alone "without --wakers" --off-cpu --max-cpu 100 --by comm,tid -- mutex 1
check "without --wakers: no waker" has_no ';--(_\[.\])*;' alone
check "without --wakers: the wait is there" is \
	"$(samples '^waiter[-;].*;waiter_lock;.*\[blocked: futex\]' alone) >= 0.95 * $(truth alone blocked_in_calls waiter)"
exit $status
