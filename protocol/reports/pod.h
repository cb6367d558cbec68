// A pod of Kubernetes, as `kubectl get pod NAME --output=json` prints it: what
// we read of that.
#pragma once

#include <map>
#include <string>

namespace hangdbg::reports {

struct PodMetadata {
  std::map<std::string, std::string> labels;

  template <class V>
  void fields(V& v) {
    v("labels", labels);
  }
};

struct Pod {
  PodMetadata metadata;

  template <class V>
  void fields(V& v) {
    v("metadata", metadata);
  }
};

}  // namespace hangdbg::reports
