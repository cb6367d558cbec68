#include "base/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hangdbg {
namespace {

using testing::ElementsAre;

TEST(Secrets, NamesThatHoldThem) {
  for (const char* name :
       {"HF_TOKEN", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY",
        "PGPASSWORD", "DB_PASSWD", "--password", "--db-pass", "apiKey",
        "accessTokens", "Authorization", "wandb.api_key", "DB_PWD", "APIKEY",
        "GOOGLE_APPLICATION_CREDENTIALS", "client_secret", "Set-Cookie"}) {
    EXPECT_TRUE(names_secret(name)) << name;
  }
}

TEST(Secrets, NamesThatDoNot) {
  for (const char* name :
       {"TOKENIZERS_PARALLELISM", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "", "-",
        "KEYBOARD", "MONKEY", "BYPASS", "OMP_NUM_THREADS", "MASTER_ADDR",
        "PYTHONPATH", "NCCL_SOCKET_IFNAME", "AUTHOR", "PATH", "keyword"}) {
    EXPECT_FALSE(names_secret(name)) << name;
  }
}

TEST(Secrets, Variables) {
  EXPECT_EQ(masked_value("HF_TOKEN", "abc"), "***");
  EXPECT_EQ(masked_value("HF_TOKEN", ""), "");
  EXPECT_EQ(masked_value("OMP_NUM_THREADS", "8"), "8");
  EXPECT_EQ(masked_value("HTTP_PROXY", "http://ada:pw@proxy:3128"),
            "http://ada:***@proxy:3128");
  EXPECT_EQ(masked_value("X", "ghp_0123456789abcdef0123"), "***");
}

TEST(Secrets, CommandLines) {
  EXPECT_THAT(masked_words({"train.py", "--password=x y", "--lr", "0.1"}),
              ElementsAre("train.py", "--password=***", "--lr", "0.1"));
  EXPECT_THAT(masked_words({"--token", "abc", "data"}),
              ElementsAre("--token", "***", "data"));
  EXPECT_THAT(masked_words({"--token", "--verbose", "data"}),
              ElementsAre("--token", "--verbose", "data"));
  EXPECT_THAT(masked_words({"--api-key"}), ElementsAre("--api-key"));
  EXPECT_THAT(masked_words({"--max-tokens", "4096"}),
              ElementsAre("--max-tokens", "4096"));
  EXPECT_THAT(masked_words({"env", "SECRET=a=b", "wandb.api_key=0123"}),
              ElementsAre("env", "SECRET=***", "wandb.api_key=0123"));
  EXPECT_THAT(masked_words({"wandb.api_key=f00d"}),
              ElementsAre("wandb.api_key=***"));
  EXPECT_THAT(masked_words({"--url=ftp://ada:pw@host/x"}),
              ElementsAre("--url=ftp://ada:***@host/x"));
  EXPECT_THAT(masked_words({"curl", "-H", "Authorization: Bearer abc"}),
              ElementsAre("curl", "-H", "Authorization: ***"));
}

TEST(Secrets, Texts) {
  EXPECT_EQ(masked_text("no secret, 12:30, a=b"), "no secret, 12:30, a=b");
  EXPECT_EQ(masked_text("https://host/p?a=1&token=abc&b=2"),
            "https://host/p?a=1&token=***&b=2");
  EXPECT_EQ(masked_text("https://token@host/@x"), "https://***@host/@x");
  EXPECT_EQ(masked_text("postgres://ada:p@w:d@db/x"),
            "postgres://ada:***@db/x");
  EXPECT_EQ(masked_text(R"({"api_key": "abc", "n": 1})"),
            R"({"api_key": "***", "n": 1})");
  EXPECT_EQ(masked_text("{'password': 'a b', 'n': 1}"),
            "{'password': '***', 'n': 1}");
  EXPECT_EQ(masked_text("environ['HF_TOKEN'] = 'abc'; x"),
            "environ['HF_TOKEN'] = '***'; x");
  EXPECT_EQ(masked_text("Authorization: Basic YWRhOnB3\nHost: x"),
            "Authorization: ***\nHost: x");
  EXPECT_EQ(masked_text("sent Bearer abcdefghij to it"),
            "sent Bearer *** to it");
  EXPECT_EQ(masked_text("Bearer of news"), "Bearer of news");
  EXPECT_EQ(masked_text("x AKIAIOSFODNN7EXAMPLE y"), "x *** y");
  EXPECT_EQ(masked_text("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA "
                        "PRIVATE KEY-----"),
            "***-----END RSA PRIVATE KEY-----");
  EXPECT_EQ(masked_text("KeyError: 'x'"), "KeyError: 'x'");
}

// As Python writes them.
TEST(Secrets, LiteralsAndContainers) {
  EXPECT_EQ(masked_text("token = b'abc' x"), "token = b'***' x");
  EXPECT_EQ(masked_text(R"(secret_key = 'a\'b"c', n)"),
            R"(secret_key = '***', n)");
  EXPECT_EQ(masked_text("secret = bytearray(b'abc')\nn = 1"),
            "secret = ***\nn = 1");
  EXPECT_EQ(masked_text("{'passwords': [('a)', 1), 'b'], 'n': (1, 2)}"),
            "{'passwords': ***, 'n': (1, 2)}");
  EXPECT_EQ(masked_text("db = {b'password': b'abc'}"),
            "db = {b'password': b'***'}");
  EXPECT_EQ(masked_text("passwords = ['abc', 'de...\nn = 'x'"),
            "passwords = ***\nn = 'x'");
  EXPECT_EQ(masked_text("tokens = [101, 2023], tokens = tensor([1, 2])"),
            "tokens = [101, 2023], tokens = tensor([1, 2])");
}

TEST(Secrets, LettersOfClients) {
  EXPECT_THAT(masked_words({"sudo", "/usr/bin/mysql", "-u", "ada", "-pabc"}),
              ElementsAre("sudo", "/usr/bin/mysql", "-u", "ada", "-p***"));
  EXPECT_THAT(masked_words({"mysql", "-p", "database"}),
              ElementsAre("mysql", "-p", "database"));
  EXPECT_THAT(masked_words({"sshpass", "-p", "abc", "ssh", "-p", "22"}),
              ElementsAre("sshpass", "-p", "***", "ssh", "-p", "22"));
  EXPECT_THAT(masked_words({"sshpass", "-pabc", "ssh", "-p", "22"}),
              ElementsAre("sshpass", "-p***", "ssh", "-p", "22"));
  EXPECT_THAT(masked_words({"curl", "-uada:pw", "https://x"}),
              ElementsAre("curl", "-uada:***", "https://x"));
  EXPECT_THAT(masked_words({"curl", "-u", "ada:pw", "https://x"}),
              ElementsAre("curl", "-u", "ada:***", "https://x"));
  EXPECT_THAT(masked_words({"ldap_train.py", "-w", "8"}),
              ElementsAre("ldap_train.py", "-w", "8"));
  EXPECT_THAT(masked_words({"train.py", "-p", "abc", "-pabc"}),
              ElementsAre("train.py", "-p", "abc", "-pabc"));
}

}  // namespace
}  // namespace hangdbg
