"""The key that the servers of these tests take."""

KEY = "sk-" + "thirdparty0" * 4
