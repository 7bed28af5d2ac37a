// SPDX-License-Identifier: Apache-2.0
// dlsym and dlvsym for programs that load libibverbs at run time (dlopen) instead of linking it, as NCCL and RCCL do: a
// handle of libibverbs, or of a library that depends on it, leads past a preloaded library to libibverbs' own
// functions. A function found there that the overlay defines is replaced by the overlay's.
//
// Not replaced: functions of version IBVERBS_1.0, which have other structures; any function without VIREO_SOCKET. Not
// covered: libraries loaded with RTLD_DEEPBIND that call libibverbs themselves. On other processors than x86-64 the
// functions are not intercepted.
//
// RTLD_NEXT and RTLD_DEFAULT mean a search that begins at the caller, which libc takes from the return address. So each
// call is passed on by a jump: libc sees the program's address. A search by these two finds preloaded functions first.
#if defined(__x86_64__)

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "host/ibverbs/passthrough.h"

namespace vireo::ibverbs {
namespace {

using Dlsym = void*(void*, const char*);
using Dlvsym = void*(void*, const char*, const char*);

std::string_view FileName(const char* path) {
  const std::string_view text = path == nullptr ? "" : path;
  return text.substr(text.find_last_of('/') + 1);
}

// --- libc's own dlsym and dlvsym, which no library function can look up: it would find these.

// The tables of a loaded object.
struct Symbols {
  uintptr_t base = 0;
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  const uint32_t* hash = nullptr;  // DT_GNU_HASH

  void* Find(const char* name) const;
};

// The table of `ld --hash-style=gnu`: four words, a Bloom filter of 64-bit words, buckets, and hash values; bit 0 marks
// the last value of a chain.
void* Symbols::Find(const char* name) const {
  uint32_t wanted = 5381;
  for (const char* at = name; *at != '\0'; ++at) wanted = wanted * 33 + static_cast<uint8_t>(*at);
  const uint32_t buckets = hash[0];
  const uint32_t first = hash[1];
  const uint32_t filter_words = hash[2];
  if (buckets == 0) return nullptr;
  const uint32_t* const bucket = hash + 4 + 2 * size_t{filter_words};
  const uint32_t* const chain = bucket + buckets;
  uint32_t index = bucket[wanted % buckets];
  if (index < first) return nullptr;
  for (;; ++index) {
    const uint32_t value = chain[index - first];
    const Elf64_Sym& symbol = symbols[index];
    if ((value | 1) == (wanted | 1) && symbol.st_shndx != SHN_UNDEF && std::strcmp(names + symbol.st_name, name) == 0) {
      return reinterpret_cast<void*>(base + symbol.st_value);  // NOLINT(performance-no-int-to-ptr)
    }
    if ((value & 1) != 0) return nullptr;
  }
}

struct Search {
  const char* name;
  void* found;
};

int SearchObject(dl_phdr_info* object, size_t /*bytes*/, void* search) {
  auto& [name, found] = *static_cast<Search*>(search);
  // libdl.so.2 before glibc 2.34.
  const std::string_view file = FileName(object->dlpi_name);
  if (!file.starts_with("libc.so") && !file.starts_with("libdl.so")) return 0;
  Symbols of{.base = object->dlpi_addr};
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const uintptr_t at = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
    for (const auto* entry = reinterpret_cast<const Elf64_Dyn*>(at);  // NOLINT(performance-no-int-to-ptr)
         entry->d_tag != DT_NULL; ++entry) {
      // glibc has relocated the pointers in place.
      const void* const pointer = reinterpret_cast<void*>(entry->d_un.d_ptr);  // NOLINT(performance-no-int-to-ptr)
      if (entry->d_tag == DT_SYMTAB) of.symbols = static_cast<const Elf64_Sym*>(pointer);
      if (entry->d_tag == DT_STRTAB) of.names = static_cast<const char*>(pointer);
      if (entry->d_tag == DT_GNU_HASH) of.hash = static_cast<const uint32_t*>(pointer);
    }
  }
  if (of.symbols != nullptr && of.names != nullptr && of.hash != nullptr) found = of.Find(name);
  return found != nullptr ? 1 : 0;
}

template <typename Function>
Function* OfLibc(const char* name) {
  Search search{.name = name, .found = nullptr};
  dl_iterate_phdr(SearchObject, &search);
  if (search.found == nullptr) {
    static_cast<void>(std::fprintf(stderr, "vireo: libc has no %s\n", name));
    std::abort();
  }
  return reinterpret_cast<Function*>(search.found);
}

Dlsym* LibcDlsym() {
  static auto* const function = OfLibc<Dlsym>("dlsym");
  return function;
}
Dlvsym* LibcDlvsym() {
  static auto* const function = OfLibc<Dlvsym>("dlvsym");
  return function;
}

// --- Replacement

// The overlay's function for one of libibverbs'; else `found`.
void* Overlaid(void* found, const char* name) {
  const std::string_view text = name;
  if (found == nullptr || !(text.starts_with("ibv_") || text.starts_with("_ibv_")) || !IsActive()) return found;
  Dl_info where{};
  if (dladdr(found, &where) == 0 || !FileName(where.dli_fname).starts_with("libibverbs.so")) return found;
  static void* const overlay = [] {
    Dl_info self{};
    return dladdr(reinterpret_cast<void*>(&Overlaid), &self) == 0 ? nullptr
                                                                  : dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  void* const own = overlay == nullptr ? nullptr : LibcDlsym()(overlay, name);
  return own == nullptr ? found : own;
}

void* FindBySymbol(void* handle, const char* name) { return Overlaid(LibcDlsym()(handle, name), name); }

void* FindByVersion(void* handle, const char* name, const char* version) {
  void* const found = LibcDlvsym()(handle, name, version);
  return version != nullptr && std::string_view(version) == "IBVERBS_1.0" ? found : Overlaid(found, name);
}

bool IsSearchFromCaller(const void* handle) { return handle == RTLD_NEXT || handle == RTLD_DEFAULT; }

}  // namespace
}  // namespace vireo::ibverbs

// Where a call continues. Called by the code below only, by name.
extern "C" __attribute__((used, visibility("hidden"))) void* vireo_dlsym_target(void* handle);
void* vireo_dlsym_target(void* handle) {
  using namespace vireo::ibverbs;  // NOLINT(google-build-using-namespace)
  return reinterpret_cast<void*>(IsSearchFromCaller(handle) ? LibcDlsym() : &FindBySymbol);
}
extern "C" __attribute__((used, visibility("hidden"))) void* vireo_dlvsym_target(void* handle);
void* vireo_dlvsym_target(void* handle) {
  using namespace vireo::ibverbs;  // NOLINT(google-build-using-namespace)
  return reinterpret_cast<void*>(IsSearchFromCaller(handle) ? LibcDlvsym() : &FindByVersion);
}

// Asks the target function, and jumps there with the caller's arguments and return address. At entry the stack is 8
// bytes off its alignment; three pushes align it. [System V ABI, AMD64, 3.2.2]
#define VIREO_JUMP_TO_TARGET(name)             \
  asm(".pushsection .text\n"                   \
      ".globl " #name                          \
      "\n"                                     \
      ".type " #name ", @function\n" #name     \
      ":\n"                                    \
      ".cfi_startproc\n"                       \
      "endbr64\n"                              \
      "pushq %rdi\n.cfi_adjust_cfa_offset 8\n" \
      "pushq %rsi\n.cfi_adjust_cfa_offset 8\n" \
      "pushq %rdx\n.cfi_adjust_cfa_offset 8\n" \
      "call vireo_" #name                      \
      "_target\n"                              \
      "popq %rdx\n.cfi_adjust_cfa_offset -8\n" \
      "popq %rsi\n.cfi_adjust_cfa_offset -8\n" \
      "popq %rdi\n.cfi_adjust_cfa_offset -8\n" \
      "jmp *%rax\n"                            \
      ".cfi_endproc\n"                         \
      ".size " #name ", . - " #name            \
      "\n"                                     \
      ".popsection\n")
VIREO_JUMP_TO_TARGET(dlsym);
VIREO_JUMP_TO_TARGET(dlvsym);

#endif
