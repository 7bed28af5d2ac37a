// SPDX-License-Identifier: Apache-2.0
#include "sim/device/nic_devices.h"

#include <memory>
#include <string_view>
#include <utility>

#ifdef VIREO_RTL_NIC1
#include "Vnic1.h"
#endif
#ifdef VIREO_RTL_NIC100
#include "Vnic100.h"
#endif
#ifdef VIREO_RTL_NIC1_RC
#include "Vnic1_rc.h"
#endif
#include "sim/device/board/board_device.h"
#include "sim/device/model_nic.h"
#include "sim/device/rtl_nic.h"
#include "sim/device/waveform_ring.h"
#if defined(VIREO_RTL_NIC1) || defined(VIREO_RTL_NIC100) || defined(VIREO_RTL_NIC1_RC)  // else Verilator may be missing
#include "sim/device/rtl_pins.h"
#ifdef VIREO_WAVEFORMS
#include "sim/device/rtl_trace.h"
#endif
#endif

namespace vireo::sim {

struct NoTrace;  // of rtl_pins.h, unused without RTL

namespace {

#ifdef VIREO_WAVEFORMS
using Trace = FstTrace;
constexpr bool kCanTrace = true;
#else
using Trace = NoTrace;
constexpr bool kCanTrace = false;
#endif

#ifdef VIREO_RTL_NIC1
bool IsNic1(const spec::Config& config) {
#ifdef VIREO_RTL_NIC1_FULL
  // Made with all features (verif/mutants), for a configuration that has no place of its own.
  return std::string_view(config.name) == spec::kNic1.name && config.cqe_elements != 0;
#else
  return &config == &spec::kNic1;
#endif
}
#endif

// Null: no RTL of this configuration is Verilated. `asserts`: a tenth slower.
std::unique_ptr<NicPins> MakePins([[maybe_unused]] const spec::Config& config, [[maybe_unused]] bool asserts) {
#ifdef VIREO_RTL_NIC100
  if (&config == &spec::kNic100) return std::make_unique<RtlPins<Vnic100, Trace>>(true, asserts);
#endif
#ifdef VIREO_RTL_NIC1
  if (IsNic1(config)) return std::make_unique<RtlPins<Vnic1, Trace>>(true, asserts);
#endif
#ifdef VIREO_RTL_NIC1_RC
  if (&config == &spec::kNic1Rc) return std::make_unique<RtlPins<Vnic1_rc, Trace>>(true, asserts);
#endif
  return nullptr;
}

}  // namespace

bool HasRtl([[maybe_unused]] const spec::Config& config) {
#ifdef VIREO_RTL_NIC100
  if (&config == &spec::kNic100) return true;
#endif
#ifdef VIREO_RTL_NIC1
  if (IsNic1(config)) return true;
#endif
#ifdef VIREO_RTL_NIC1_RC
  if (&config == &spec::kNic1Rc) return true;
#endif
  return false;
}

NicFactory NicDeviceFactory(std::string_view name, const LockstepOptions& lockstep, PinsFactory rtl) {
  if (IsBoardName(name)) return BoardDeviceFactory(name);
  DeviceFactories factories;
  factories.lockstep = lockstep;
  std::shared_ptr<WaveformRing> ring;
  if (kCanTrace && name == "lockstep" && !lockstep.waveform) ring = WaveformRing::FromEnvironment();
  if (ring != nullptr) factories.lockstep.waveform = [ring](Cycle) { return ring->OnMismatch(); };
  factories.model = [](const NicContext& context) { return std::make_unique<ModelNic>(context); };
  if (!rtl) rtl = [asserts = name == "lockstep"](const spec::Config& config) { return MakePins(config, asserts); };
  factories.rtl = [ring, rtl](const NicContext& context) -> std::unique_ptr<Nic> {
    std::unique_ptr<NicPins> pins = rtl(context.config);
    if (pins == nullptr) return nullptr;
    if (ring != nullptr) pins = WaveformRing::Watch(ring, context.name, std::move(pins));
    return std::make_unique<RtlNic>(context, std::move(pins));
  };
  return DeviceFactory(name, factories);
}

}  // namespace vireo::sim
