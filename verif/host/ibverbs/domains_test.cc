// SPDX-License-Identifier: Apache-2.0
// Parent and thread domains, and protection domains and regions that processes share.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "verif/host/ibverbs/overlay_fixture.h"

namespace vireo::sim {
namespace {

class Domains : public Overlay {};

void* NoMemory(ibv_pd*, void*, size_t, size_t, uint64_t) { return nullptr; }
void Forget(ibv_pd*, void*, void*, uint64_t) {}

TEST_F(Domains, ParentDomainHasTheRightsOfItsDomain) {
  ibv_td_init_attr td_init{.comp_mask = 0};
  ibv_td* td = ibv_alloc_td(context_, &td_init);
  ASSERT_NE(td, nullptr);
  ibv_parent_domain_init_attr init{};
  init.pd = pd_;
  init.td = td;
  ibv_pd* parent = ibv_alloc_parent_domain(context_, &init);
  ASSERT_NE(parent, nullptr);
  EXPECT_EQ(parent->handle, pd_->handle);
  EXPECT_EQ(ibv_dealloc_td(td), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(pd_), EBUSY);

  ibv_cq_init_attr_ex cq_init{};
  cq_init.cqe = 4;
  cq_init.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
  cq_init.parent_domain = parent;
  ibv_cq* cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(context_, &cq_init));
  ASSERT_NE(cq, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(parent), EBUSY);

  // Queue pairs of the parent domain, a region of the domain itself.
  Pair pair;
  pair.cq = cq;
  for (ibv_qp*& qp : pair.qp) {
    ibv_qp_init_attr_ex qp_init = QpAttributes(cq);
    qp_init.pd = parent;
    qp = ibv_create_qp_ex(context_, &qp_init);
    ASSERT_NE(qp, nullptr);
  }
  Connect(pair.qp[0], pair.qp[1]->qp_num);
  Connect(pair.qp[1], pair.qp[0]->qp_num);
  pair.mr = ibv_reg_mr(pd_, memory_, kBytes, kAll);
  std::memset(memory_, 0x5a, 100);
  ASSERT_EQ(Write(pair, 100, pair.mr->rkey), 0);
  EXPECT_EQ(Next(cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(memory_ + kBytes / 2, memory_, 100), 0);
  EXPECT_EQ(ibv_dereg_mr(pair.mr), 0);
  for (ibv_qp* qp : pair.qp) {
    EXPECT_EQ(ibv_dealloc_pd(parent), EBUSY);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
  }
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(parent), 0);
  EXPECT_EQ(ibv_dealloc_td(td), 0);
}

TEST_F(Domains, InvalidParentDomainsAreRefused) {
  ibv_td_init_attr unknown{.comp_mask = 1};
  EXPECT_EQ(ibv_alloc_td(context_, &unknown), nullptr);
  EXPECT_EQ(errno, EINVAL);
  const auto error_of = [this](const ibv_parent_domain_init_attr& init) {
    ibv_parent_domain_init_attr copy = init;
    errno = 0;
    ibv_pd* parent = ibv_alloc_parent_domain(context_, &copy);
    if (parent == nullptr) return errno;
    EXPECT_EQ(ibv_dealloc_pd(parent), 0);
    return 0;
  };
  ibv_parent_domain_init_attr init{};
  EXPECT_EQ(error_of(init), EINVAL);
  init.pd = pd_;
  EXPECT_EQ(error_of(init), 0);
  init.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
  EXPECT_EQ(error_of(init), EINVAL);
  init.alloc = NoMemory;
  init.free = Forget;
  EXPECT_EQ(error_of(init), 0);
  init.comp_mask |= 4;
  EXPECT_EQ(error_of(init), EOPNOTSUPP);

  // A CQ's domain is a parent domain.
  ibv_cq_init_attr_ex cq_init{};
  cq_init.cqe = 4;
  cq_init.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
  cq_init.parent_domain = pd_;
  EXPECT_EQ(ibv_create_cq_ex(context_, &cq_init), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

// --- Shared by processes

// One end of a connection to another process, which waits for and sends numbers.
class Peer {
 public:
  explicit Peer(int fd) : fd_(fd) {}
  void Send(uint32_t value) const { EXPECT_EQ(send(fd_, &value, sizeof value, MSG_NOSIGNAL), ssize_t{sizeof value}); }
  // ~0: the other process has ended.
  uint32_t Receive() const {
    uint32_t value = 0;
    return recv(fd_, &value, sizeof value, 0) == ssize_t{sizeof value} ? value : ~uint32_t{0};
  }
  void Close() const { close(fd_); }

 private:
  int fd_;
};

class SharedDomains : public Domains {
 protected:
  // Runs `body` in a child, with its end of a connection; it returns the exit status. The other end is returned.
  template <typename Body>
  Peer Start(Body body) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    child_ = fork();
    if (child_ == 0) {
      close(ends[0]);
      _exit(body(Peer(ends[1])));
    }
    close(ends[1]);
    return Peer(ends[0]);
  }
  int Await() const {
    int status = -1;
    EXPECT_EQ(waitpid(child_, &status, 0), child_);
    return WEXITSTATUS(status);
  }
  pid_t child_ = -1;
};

TEST_F(SharedDomains, QueuePairOfOneProcessUsesMemoryOfAnother) {
  ibv_mr* mr = ibv_reg_mr(pd_, memory_, kBytes, kAll);
  ASSERT_NE(mr, nullptr);
  ibv_cq* cq = ibv_create_cq(context_, 16, nullptr, nullptr, 0);
  ibv_qp_init_attr_ex init = QpAttributes(cq);
  ibv_qp* qp = ibv_create_qp_ex(context_, &init);
  std::memset(memory_, 0x11, 64);
  const Peer child = Start([&](const Peer parent) {
    const int file = dup(context_->cmd_fd);
    ibv_context* context = ibv_import_device(file);
    if (context == nullptr) return 1;
    // It must not know what it has not imported.
    if (ibv_import_pd(context, pd_->handle + 1) != nullptr || errno != EINVAL) return 2;
    ibv_pd* pd = ibv_import_pd(context, pd_->handle);
    if (pd == nullptr) return 3;
    if (ibv_import_mr(pd, mr->handle + 1) != nullptr || errno != EINVAL) return 4;
    ibv_mr* region = ibv_import_mr(pd, mr->handle);
    if (region == nullptr || region->addr != nullptr || region->length != kBytes || region->lkey != mr->lkey ||
        region->rkey != mr->rkey) {
      return 5;
    }
    context_ = context;
    pd_ = pd;
    ibv_cq* own_cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
    ibv_qp_init_attr_ex own_init = QpAttributes(own_cq);
    ibv_qp* own = ibv_create_qp_ex(context, &own_init);
    if (own == nullptr) return 6;
    Connect(own, parent.Receive());
    parent.Send(own->qp_num);
    if (parent.Receive() != 1) return 7;
    // Reads the parent's memory by the lkey, and writes it by the rkey: this process has other bytes there.
    std::memset(memory_, 0x22, 64);
    Pair pair;
    pair.qp = {own, own};
    pair.mr = region;
    if (Write(pair, 64, region->rkey) != 0 || Next(own_cq).status != IBV_WC_SUCCESS) return 8;
    parent.Send(2);
    if (parent.Receive() != 3) return 9;
    if (ibv_destroy_qp(own) != 0 || ibv_destroy_cq(own_cq) != 0) return 10;
    ibv_unimport_mr(region);
    ibv_unimport_pd(pd);
    return ibv_close_device(context) == 0 ? 0 : 11;
  });
  child.Send(qp->qp_num);
  const uint32_t peer = child.Receive();
  ASSERT_NE(peer, ~uint32_t{0}) << Await();
  Connect(qp, peer);
  child.Send(1);
  ASSERT_EQ(child.Receive(), 2U) << Await();
  EXPECT_EQ(memory_[kBytes / 2], 0x11);
  EXPECT_EQ(memory_[kBytes / 2 + 63], 0x11);
  EXPECT_EQ(memory_[kBytes / 2 + 64], 0);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd_), EBUSY);  // the other process's queue pair
  child.Send(3);
  EXPECT_EQ(Await(), 0);
  child.Close();
}

TEST_F(SharedDomains, RegionEndsWithTheProcessThatRegisteredIt) {
  const Peer child = Start([&](const Peer parent) {
    ibv_context* context = ibv_import_device(dup(context_->cmd_fd));
    ibv_pd* pd = context == nullptr ? nullptr : ibv_import_pd(context, pd_->handle);
    ibv_mr* mr = pd == nullptr ? nullptr : ibv_reg_mr(pd, memory_, kBytes, kAll);
    if (mr == nullptr) return 1;
    parent.Send(mr->handle);
    return parent.Receive() == 1 ? 0 : 2;  // ends without any clean-up
  });
  const uint32_t handle = child.Receive();
  ASSERT_NE(handle, ~uint32_t{0}) << Await();
  ibv_mr* region = ibv_import_mr(pd_, handle);
  ASSERT_NE(region, nullptr);
  Pair pair = MakePair();
  ASSERT_EQ(Write(pair, 64, region->rkey), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);
  // Another process's region cannot be changed.
  EXPECT_EQ(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE),
            IBV_REREG_MR_ERR_CMD);
  child.Send(1);
  EXPECT_EQ(Await(), 0);
  while (ibv_mr* again = ibv_import_mr(pd_, handle)) ibv_unimport_mr(again);  // the service has noticed
  ASSERT_EQ(Write(pair, 64, region->rkey), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_REM_ACCESS_ERR);
  ibv_unimport_mr(region);
  Destroy(pair);  // the domain is still there
  child.Close();
}

TEST_F(SharedDomains, OtherDescriptorsAreNoContexts) {
  EXPECT_EQ(ibv_import_device(-1), nullptr);
  EXPECT_EQ(errno, EBADF);
  int file = memfd_create("other", 0);
  EXPECT_EQ(ibv_import_device(file), nullptr);
  EXPECT_EQ(errno, EINVAL);
  // The name of a device does not give the right to its contexts.
  ASSERT_EQ(write(file, "vireo0", 6), 6);
  EXPECT_EQ(ibv_import_device(file), nullptr);
  EXPECT_EQ(errno, EINVAL);
  close(file);
  // Two contexts that do not share.
  ibv_context* other = ibv_open_device(context_->device);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(ibv_import_pd(other, pd_->handle), nullptr);
  EXPECT_EQ(ibv_close_device(other), 0);
}

}  // namespace
}  // namespace vireo::sim
