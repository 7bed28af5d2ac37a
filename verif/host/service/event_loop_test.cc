// SPDX-License-Identifier: Apache-2.0
#include "host/service/event_loop.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <vector>

namespace vireo::service {
namespace {

host::FileDescriptor Event(unsigned count = 0) {
  return host::FileDescriptor(::eventfd(count, EFD_CLOEXEC | EFD_NONBLOCK));
}

TEST(EventLoop, CallsOnlyWatchersOfReadableDescriptors) {
  EventLoop loop;
  const host::FileDescriptor a = Event(), b = Event(1);
  int a_calls = 0, b_calls = 0;
  loop.Watch(a.get(), [&] { ++a_calls; });
  loop.Watch(b.get(), [&] { ++b_calls; });
  EXPECT_EQ(loop.Poll(0), 1);
  EXPECT_EQ(loop.Poll(EventLoop::kForeverNs), 1);  // still readable
  EXPECT_EQ(a_calls, 0);
  EXPECT_EQ(b_calls, 2);
  loop.Unwatch(b.get());
  EXPECT_EQ(loop.Poll(1'000'000), 0);
  EXPECT_EQ(b_calls, 2);
}

// Also if the descriptor's number has been reused.
TEST(EventLoop, UnwatchedInTheSamePollIsNotCalled) {
  EventLoop loop;
  host::FileDescriptor a = Event(1), b = Event(1);
  std::vector<int> calls;
  host::FileDescriptor reused;
  const auto end = [&](host::FileDescriptor& other, int number) {
    calls.push_back(number);
    if (!other.is_open()) return;
    const int fd = other.get();
    loop.Unwatch(fd);
    other.Close();
    reused = Event(1);
    EXPECT_EQ(reused.get(), fd);
    loop.Watch(reused.get(), [&] { calls.push_back(3); });
  };
  loop.Watch(a.get(), [&] { end(b, 1); });
  loop.Watch(b.get(), [&] { end(a, 2); });
  loop.Poll(0);
  EXPECT_EQ(calls.size(), 1u);
  loop.Poll(0);
  EXPECT_EQ(calls.back() + calls[1], calls[0] + 3);  // the remaining one, and the new one
}

TEST(EventLoop, FoundEventsAreCalledOnceIfStillWatched) {
  EventLoop loop;
  const host::FileDescriptor a = Event(), b = Event(1);
  int a_calls = 0, b_calls = 0;
  loop.Watch(a.get(), [&] { ++a_calls; });
  EXPECT_FALSE(loop.Find());
  loop.Watch(b.get(), [&] { ++b_calls; });
  EXPECT_TRUE(loop.Find());
  EXPECT_TRUE(loop.Find());
  EXPECT_EQ(b_calls, 0);
  EXPECT_EQ(loop.Poll(EventLoop::kForeverNs), 1);
  EXPECT_EQ(b_calls, 1);
  EXPECT_TRUE(loop.Find());
  loop.Unwatch(b.get());
  ASSERT_EQ(::eventfd_write(a.get(), 1), 0);  // after Find: for the next one
  loop.Poll(0);
  EXPECT_EQ(b_calls, 1);
  EXPECT_EQ(loop.Poll(0), 1);
  EXPECT_EQ(a_calls, 1);
}

TEST(EventLoop, AWatcherMayUnwatchItself) {
  EventLoop loop;
  const host::FileDescriptor a = Event(1);
  int calls = 0;
  loop.Watch(a.get(), [&] {
    loop.Unwatch(a.get());
    ++calls;
  });
  loop.Poll(0);
  loop.Poll(0);
  EXPECT_EQ(calls, 1);
}

TEST(EventLoop, SleepCallsNoWatcher) {
  EventLoop loop;
  const host::FileDescriptor a = Event(1);
  int calls = 0;
  loop.Watch(a.get(), [&] { ++calls; });
  loop.Sleep(EventLoop::kForeverNs);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(loop.Poll(0), 1);
}

}  // namespace
}  // namespace vireo::service
