// No torch: a library of the name of its own, with functions that have the
// names of its engine's. Who calls backward() waits for a thread, as for that
// of a device, which waits in a launch (causes_cuda.c).
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>

namespace torch::autograd {

struct Engine {
  void execute();
  void evaluate_function();
  void evaluate_function_again();
  void thread_main();
};

static sem_t over;

__attribute__((noinline)) void Engine::execute() {
  while (::sem_wait(&over) != 0) {
  }
}

__attribute__((noinline)) void Engine::evaluate_function() {
  const auto launch = reinterpret_cast<int (*)(void*)>(
      ::dlsym(RTLD_DEFAULT, "cudaLaunchKernel"));
  launch(nullptr);
  ::sem_post(&over);
}

// Each launch comes back, and is made from one of two places.
__attribute__((noinline)) void Engine::evaluate_function_again() {
  const auto wait =
      reinterpret_cast<int (*)(void*)>(::dlsym(RTLD_DEFAULT, "cudaMemcpy"));
  while (true) {
    wait(nullptr);
    wait(nullptr);
  }
}

__attribute__((noinline)) void Engine::thread_main() {
  while (::poll(nullptr, 0, -1) != 0) {
  }
}

static void* device_0(void*) {
  Engine().evaluate_function();
  return nullptr;
}

static void* device_0_again(void*) {
  Engine().evaluate_function_again();
  return nullptr;
}

static void* device_1(void*) {
  Engine().thread_main();
  return nullptr;
}

}  // namespace torch::autograd

static void backward_by(void* (*device)(void*)) {
  using namespace torch::autograd;
  ::sem_init(&over, 0, 0);
  pthread_t other_running_thread;
  pthread_t idle;
  ::pthread_create(&other_running_thread, nullptr, device, nullptr);
  ::pthread_setname_np(other_running_thread, "pt_autograd_0");
  ::pthread_create(&idle, nullptr, device_1, nullptr);
  ::pthread_setname_np(idle, "pt_autograd_1");
  Engine().execute();
}

extern "C" void backward(void*) {
  backward_by(torch::autograd::device_0);
}

extern "C" void backward_goes_on(void*) {
  backward_by(torch::autograd::device_0_again);
}
