#include "protocol/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dap/filled.h"
#include "tests/dap/pairs.h"

namespace hangdbg::dap {
namespace {

using testing::ElementsAre;
using testing::VariantWith;

template <class Envelope>
Envelope parsed(std::string_view text) {
  return std::get<Envelope>(parse_message(text).value());
}

TEST(Message, RequestAsText) {
  const Request request =
      make_request<StackTrace>(7, {.thread_id = 42, .levels = 1});
  EXPECT_EQ(to_text(request),
            R"({"type":"request","seq":7,"command":"stackTrace",)"
            R"("arguments":{"threadId":42,"levels":1}})");
}

TEST(Message, CustomArgumentsKeepTheirPrefix) {
  const Request request = make_request<Evaluate>(
      1, {.expression = "self", .frame_id = 3, .pretty = 80});
  EXPECT_EQ(request.arguments.dump(),
            R"({"expression":"self","frameId":3,"hangdbg/pretty":80})");
}

TEST(Message, ResponseIsReadBack) {
  const auto response = parsed<Response>(
      R"({"type":"response","seq":2,"request_seq":1,"success":true,)"
      R"("command":"stackTrace","body":{"stackFrames":[)"
      R"({"id":5,"name":"wait","source":{"name":"f.py","path":"/a/f.py"},)"
      R"("line":42,"column":0,"hangdbg":{"qualname":"FileBaton.wait",)"
      R"("module":"torch","firstLine":30}}],"totalFrames":1}})");
  const auto body = body_of<StackTrace>(response);
  ASSERT_TRUE(body);
  ASSERT_EQ(body->stack_frames.size(), 1U);
  const StackFrame& frame = body->stack_frames[0];
  EXPECT_EQ(frame.line, 42);
  EXPECT_EQ(frame.source->path, "/a/f.py");
  EXPECT_EQ(frame.hangdbg->first_line, 30);
}

TEST(Message, EventIsReadBack) {
  const Event event =
      make_event<Output>(9, {.category = "stdout", .output = "hi\n"});
  const auto again = parsed<Event>(to_text(event));
  EXPECT_EQ(again.event, "output");
  EXPECT_EQ(body_of<Output>(again)->output, "hi\n");
}

TEST(Message, MissingArgumentIsNamedByItsPath) {
  const auto request =
      parsed<Request>(R"({"type":"request","seq":1,"command":"stackTrace"})");
  EXPECT_EQ(arguments_of<StackTrace>(request).error().message,
            "missing value at (root).arguments.threadId");
  EXPECT_TRUE(arguments_of<Threads>(request));
}

TEST(Message, ArgumentsThatAreNoObjectAreNamedToo) {
  const auto problem = [](std::string_view arguments) {
    return arguments_of<Pause>({1, "pause", Json::parse(arguments).value()})
        .error()
        .message;
  };
  EXPECT_EQ(problem("[]"), "expected an object at (root).arguments");
  EXPECT_EQ(problem("null"), "missing value at (root).arguments.threadId");
  EXPECT_EQ(problem(R"({"threadId":"1","x":[]})"),
            "expected a number at (root).arguments.threadId");
}

TEST(Message, AttachTakesWhatPeopleHaveInTheirConfigurations) {
  const auto attach = [](std::string_view arguments) {
    return arguments_of<Attach>({1, "attach", Json::parse(arguments).value()});
  };
  const auto picked = attach(
      R"({"type":"python","request":"attach","name":"hang","processId":"79655",)"
      R"("ranks":"0,3-5","pathMappings":[{"localRoot":"/a","remoteRoot":"/b"}],)"
      R"("justMyCode":true,"subProcess":null,"__sessionId":"x"})");
  ASSERT_TRUE(picked) << picked.error().message;
  EXPECT_EQ(picked->process_id->text, "79655");
  EXPECT_EQ(picked->ranks->text, "0,3-5");
  EXPECT_EQ(picked->options.path_mappings->at(0).remote_root, "/b");
  EXPECT_EQ(picked->options.just_my_code, true);
  EXPECT_EQ(picked->options.sub_process, std::nullopt);
  EXPECT_EQ(attach(R"({"processId":79655})")->process_id->text, "79655");
  EXPECT_EQ(attach(R"({"processId":[1]})").error().message,
            "expected text or a whole number at (root).arguments.processId");
  EXPECT_EQ(attach(R"({"pathMappings":[{"localRoot":"/a"}]})").error().message,
            "missing value at (root).arguments.pathMappings[0].remoteRoot");
}

TEST(Message, AnEnvironmentMayUnsetNames) {
  const auto launch = arguments_of<Launch>(
      {1, "launch",
       Json::parse(R"({"program":"a.py","env":{"A":"1","B":null}})").value()});
  ASSERT_TRUE(launch) << launch.error().message;
  EXPECT_EQ(launch->env->at("A"), "1");
  EXPECT_EQ(launch->env->at("B"), std::nullopt);
  EXPECT_EQ(encode(*launch).dump(),
            R"({"program":"a.py","env":{"A":"1","B":null}})");
}

TEST(Message, BadElementIsNamedByItsPath) {
  const auto response = parsed<Response>(
      R"({"type":"response","seq":2,"request_seq":1,"success":true,)"
      R"("command":"stackTrace","body":{"stackFrames":[)"
      R"({"id":5,"name":"wait","line":"x","column":0}]}})");
  EXPECT_EQ(body_of<StackTrace>(response).error().message,
            "expected a number at (root).body.stackFrames[0].line");
}

TEST(Message, EnvelopesAreChecked) {
  const auto problem = [](std::string_view text) {
    return parse_message(text).error().message;
  };
  EXPECT_EQ(problem("{}"), "missing value at (root).type");
  EXPECT_EQ(problem("3"), "expected an object at (root)");
  EXPECT_EQ(problem(R"({"type":"reply"})"),
            R"(expected "request", "response" or "event" at (root).type)");
  EXPECT_EQ(problem(R"({"type":"request","seq":1})"),
            "missing value at (root).command");
}

TEST(Message, AFailureCarriesIdMessageAndHint) {
  const auto request =
      parsed<Request>(R"({"type":"request","seq":4,"command":"evaluate"})");
  const Response failure = make_failure(
      5, request, {ErrorId::GilHeld, "thread 12 holds the GIL", "try dump"});
  const auto again = parsed<Response>(to_text(failure));
  EXPECT_EQ(again.request_seq, 4);
  EXPECT_EQ(again.message, "thread 12 holds the GIL");
  const Error error = body_of<Evaluate>(again).error();
  EXPECT_EQ(error.id, ErrorId::GilHeld);
  EXPECT_EQ(error.message, "thread 12 holds the GIL");
  EXPECT_EQ(error.hint, "try dump");
}

TEST(Message, TheAgentsErrorKeepsItsTraceback) {
  const auto response = parsed<Response>(
      R"({"type":"response","request_seq":1,"seq":2,"command":"evaluate",)"
      R"("success":false,"message":"ZeroDivisionError: division by zero",)"
      R"("body":{"error":{"id":1,"format":"x","showUser":false},)"
      R"("hangdbg":{"id":"expression-failed","type":"ZeroDivisionError",)"
      R"("traceback":["a","b"]}}})");
  EXPECT_EQ(error_of(response).id, ErrorId::ExpressionFailed);
  const auto body = decode<ErrorBody>(response.body);
  ASSERT_TRUE(body && body->hangdbg && body->hangdbg->traceback);
  EXPECT_THAT(*body->hangdbg->traceback, ElementsAre("a", "b"));
}

TEST(Message, AFailureOfAStrangerIsStillOneLine) {
  Response response;
  response.success = false;
  EXPECT_EQ(error_of(response).id, ErrorId::AgentFailed);
  EXPECT_FALSE(error_of(response).message.empty());
  response.message = "boom";
  EXPECT_EQ(error_of(response).message, "boom");
}

// Each pair's sample is read as typed and written again: same names, nothing
// lost. The samples are the contract with agent/*.py.
struct Sample {
  std::string_view command;
  std::string_view arguments;
  std::string_view body;
};

template <class Pair>
void check(const Sample& sample) {
  EXPECT_EQ(Pair::command, sample.command);
  const auto arguments =
      decode<typename Pair::Arguments>(Json::parse(sample.arguments).value());
  ASSERT_TRUE(arguments) << arguments.error().message;
  EXPECT_EQ(encode(*arguments).dump(), sample.arguments);
  const auto body =
      decode<typename Pair::Body>(Json::parse(sample.body).value());
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(encode(*body).dump(), sample.body);
}

TEST(Message, EveryPairSpeaksTheContract) {
  check<Initialize>({"initialize",
                     R"({"adapterID":"hangdbg","clientID":"vscode",)"
                     R"("linesStartAt1":true})",
                     R"({"supportsCompletionsRequest":true})"});
  check<Hello>({"hangdbg/hello", "{}",
                R"({"python":"3.8.18","implementation":"cpython","pid":9,)"
                R"("mainThreadId":9,"executable":"/usr/bin/python3",)"
                R"("waits":false})"});
  check<Load>(
      {"hangdbg/load", R"({"name":"objects.py","source":"x = 1\n"})", "{}"});
  check<Threads>(
      {"threads", "{}", R"({"threads":[{"id":9,"name":"MainThread"}]})"});
  check<StackTrace>(
      {"stackTrace", R"({"threadId":9,"startFrame":1,"levels":20})",
       R"({"stackFrames":[{"id":1,"name":"f","source":{"name":"a.py",)"
       R"("path":"/a.py"},"line":3,"column":0,"hangdbg":{"qualname":"C.f",)"
       R"("module":"m","firstLine":2}}],"totalFrames":1})"});
  check<Scopes>(
      {"scopes", R"({"frameId":1})",
       R"({"scopes":[{"name":"Locals","presentationHint":"locals",)"
       R"("variablesReference":0,"expensive":false,"source":{"path":"/a.py"},)"
       R"("line":2,"endLine":9}]})"});
  check<FrameArguments>(
      {"hangdbg/arguments", R"({"frameId":1})",
       R"({"variables":[{"name":"self","value":"<m.C object at 0x7f>",)"
       R"("type":"C","variablesReference":0}]})"});
  check<Evaluate>(
      {"evaluate",
       R"({"expression":"x","frameId":1,"context":"repl",)"
       R"("hangdbg/pretty":80,"hangdbg/limit":1000})",
       R"({"result":"1","type":"int","variablesReference":0,)"
       R"("hangdbg":{"statement":false,"none":false,"truncated":0}})"});
  check<Completions>(
      {"completions", R"({"text":"self.","column":6,"frameId":1})",
       R"({"targets":[{"label":"lock","type":"property","start":5,)"
       R"("length":0}]})"});
  check<Whatis>({"hangdbg/whatis", R"({"expression":"f","frameId":1})",
                 R"({"text":"Function f"})"});
  check<ObjectSource>({"hangdbg/source", R"({"expression":"f","frameId":1})",
                       R"({"path":"/a.py","line":2,"endLine":9})"});
  check<CachedSource>({"hangdbg/cachedSource", R"({"path":"/a.py"})",
                       R"({"content":"x = 1\n"})"});
  check<Disconnect>({"disconnect", "{}", "{}"});
}

template <class T>
void expect_read_back(bool optionals) {
  const Json json = encode(filled<T>(optionals));
  const Result<T> again = decode<T>(Json::parse(json.dump()).value());
  ASSERT_TRUE(again) << json.dump() << ": " << again.error().message;
  EXPECT_EQ(encode(*again).dump(), json.dump());
}

TEST(Message, EveryMessageIsReadBackAsItWasWritten) {
  for (const bool optionals : {true, false}) {
    each_request([&]<class Pair>() {
      expect_read_back<typename Pair::Arguments>(optionals);
      expect_read_back<typename Pair::Body>(optionals);
    });
    each_event([&]<class Kind>() {
      expect_read_back<typename Kind::Body>(optionals);
    });
  }
}

TEST(Message, WithoutArgumentsOnlyWhatMustBeThereIsMissed) {
  each_request([]<class Pair>() {
    using Arguments = typename Pair::Arguments;
    const bool needs_some = encode(filled<Arguments>(false)).dump() != "{}";
    const auto arguments = arguments_of<Pair>({1, std::string(Pair::command)});
    EXPECT_EQ(!arguments, needs_some) << Pair::command;
    if (!arguments) {
      EXPECT_THAT(arguments.error().message,
                  testing::StartsWith("missing value at (root).arguments."));
    }
  });
}

}  // namespace
}  // namespace hangdbg::dap
