// Envelopes from text and back, and errors as DAP carries them.
#include "protocol/message.h"

namespace hangdbg::dap {
namespace {

struct Kind {
  std::string type;

  template <class V>
  void fields(V& v) {
    v("type", type);
  }
};

template <class Envelope>
Result<Message> decode_as(const Json& json) {
  return TRY(decode<Envelope>(json));
}

ErrorId error_id(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(ErrorId::Interrupted); ++i) {
    if (const auto id = static_cast<ErrorId>(i); name == error_name(id)) {
      return id;
    }
  }
  return ErrorId::AgentFailed;
}

}  // namespace

Result<Message> parse_message(std::string_view text) {
  const Json json = TRY(Json::parse(text));
  const auto [type] = TRY(decode<Kind>(json));
  if (type == "request") {
    return decode_as<Request>(json);
  }
  if (type == "response") {
    return decode_as<Response>(json);
  }
  if (type == "event") {
    return decode_as<Event>(json);
  }
  return fail(ErrorId::BadMessage,
              "expected \"request\", \"response\" or \"event\" at (root).type");
}

std::string to_text(const Message& message) {
  return std::visit([](const auto& m) { return encode(m).dump(); }, message);
}

Response make_failure(std::int64_t seq,
                      const Request& request,
                      const Error& error) {
  ErrorBody body;
  body.error = {.id = static_cast<std::int64_t>(error.id) + 1,
                .format = error.text(),
                .show_user = true};
  body.hangdbg = ErrorDetail{.id = error_name(error.id)};
  if (!error.hint.empty()) {
    body.hangdbg->hint = error.hint;
  }
  return {seq, request.seq, false, request.command, error.text(), encode(body)};
}

Error error_of(const Response& response) {
  const ErrorBody body = decode<ErrorBody>(response.body).value_or(ErrorBody());
  Error error{.id = ErrorId::AgentFailed};
  if (body.hangdbg) {
    error.id = error_id(body.hangdbg->id);
    error.hint = body.hangdbg->hint.value_or("");
  }
  error.message = response.message.value_or(body.error.format);
  if (error.message.empty()) {
    error.message = "the request failed, and its answer does not say why";
  }
  return error;
}

}  // namespace hangdbg::dap
