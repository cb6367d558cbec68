// The three envelopes of the Debug Adapter Protocol, and the way from an
// envelope to the typed pair that it carries.
//
// A pair is a struct of protocol/requests/: `Arguments`, `Body` and
// `command`; an event of protocol/events/ has `Body` and `event`:
//
//   Request request = make_request<StackTrace>(seq, {.thread_id = tid});
//   StackTrace::Body body = TRY(body_of<StackTrace>(response));
//
// https://microsoft.github.io/debug-adapter-protocol/specification
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "protocol/json.h"

namespace hangdbg::dap {

struct Request {
  std::int64_t seq = 0;
  std::string command;
  Json arguments;

  template <class V>
  void fields(V& v) {
    v.constant("type", "request");
    v("seq", seq);
    v("command", command);
    v("arguments", arguments);
  }
};

struct Response {
  std::int64_t seq = 0;
  std::int64_t request_seq = 0;
  bool success = true;
  std::string command;
  std::optional<std::string> message;  // one line, when !success
  Json body;                           // an ErrorBody, when !success

  template <class V>
  void fields(V& v) {
    v.constant("type", "response");
    v("seq", seq);
    v("request_seq", request_seq);
    v("success", success);
    v("command", command);
    v("message", message);
    v("body", body);
  }
};

struct Event {
  std::int64_t seq = 0;
  std::string event;
  Json body;

  template <class V>
  void fields(V& v) {
    v.constant("type", "event");
    v("seq", seq);
    v("event", event);
    v("body", body);
  }
};

using Message = std::variant<Request, Response, Event>;

// What DAP clients show of a failed request.
struct ErrorMessage {
  std::int64_t id = 0;
  std::string format;  // one line
  std::optional<bool> show_user;
  std::optional<std::string> url;
  std::optional<std::string> url_label;

  template <class V>
  void fields(V& v) {
    v("id", id);
    v("format", format);
    v("showUser", show_user);
    v("url", url);
    v("urlLabel", url_label);
  }
};

// What hangdbg's own client shows: our stable id, and for an expression that
// raised the exception's type and traceback.
struct ErrorDetail {
  std::string id;  // error_name() of an ErrorId, or "cancelled"
  std::optional<std::string> hint;
  std::optional<std::string> type;
  std::optional<std::vector<std::string>> traceback;  // lines, without \n

  template <class V>
  void fields(V& v) {
    v("id", id);
    v("hint", hint);
    v("type", type);
    v("traceback", traceback);
  }
};

struct ErrorBody {
  ErrorMessage error;
  std::optional<ErrorDetail> hangdbg;

  template <class V>
  void fields(V& v) {
    v("error", error);
    v("hangdbg", hangdbg);
  }
};

// One message from its JSON text. Error: BadMessage.
Result<Message> parse_message(std::string_view text);

// The JSON text of a message, without the Content-Length header.
std::string to_text(const Message& message);

Response make_failure(std::int64_t seq,
                      const Request& request,
                      const Error& error);

// The failure that a response with success == false tells of: its ErrorId
// where the other side is hangdbg, else AgentFailed.
Error error_of(const Response& response);

template <class Pair>
Request make_request(std::int64_t seq,
                     const typename Pair::Arguments& arguments) {
  return {seq, std::string(Pair::command), encode(arguments)};
}

// Error: BadMessage.
template <class Pair>
Result<typename Pair::Arguments> arguments_of(const Request& request) {
  return decode<typename Pair::Arguments>(request.arguments,
                                          "(root).arguments");
}

template <class Pair>
Response make_response(std::int64_t seq,
                       const Request& request,
                       const typename Pair::Body& body) {
  return {seq, request.seq, true, request.command, std::nullopt, encode(body)};
}

// Error: what error_of() says of a failed response; BadMessage.
template <class Pair>
Result<typename Pair::Body> body_of(const Response& response) {
  if (!response.success) {
    return std::unexpected(error_of(response));
  }
  return decode<typename Pair::Body>(response.body, "(root).body");
}

template <class Kind>
Event make_event(std::int64_t seq, const typename Kind::Body& body) {
  return {seq, std::string(Kind::event), encode(body)};
}

template <class Kind>
Result<typename Kind::Body> body_of(const Event& event) {
  return decode<typename Kind::Body>(event.body, "(root).body");
}

}  // namespace hangdbg::dap
