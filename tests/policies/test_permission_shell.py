"""Command lines taken apart: what a rule allows, and what a deny rule finds, wherever it stands."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marvin_agent.errors import ConfigError
from marvin_agent.permission_rules import parse_rule
from marvin_agent.policies.permissions.commands import Match
from marvin_agent.policies.permissions.shell import take_apart, word_of
from marvin_agent.policies.permissions.subjects import CommandSubject, Where

WHERE = Where("/project", "/project", "/home/me", lambda path: os.path.join("/project", path))


def allows(command: str, *rules: str) -> bool:
    return CommandSubject(command, WHERE).covered_by([parse_rule(rule) for rule in rules])


def touches(command: str, rule: str) -> Match:
    return CommandSubject(command, WHERE).touched_by(parse_rule(rule))


def suggests(command: str, *rules: str) -> tuple[str, ...]:
    return CommandSubject(command, WHERE).suggestions([parse_rule(rule) for rule in rules])


@pytest.mark.parametrize(
    "command",
    [
        "git log",
        "git",
        "git log && git status; git diff | git apply --stat",
        "(git log) & ! git status",
        "git log\ngit status",
        "while git fetch; do git log; done",
        "if [ -f x ]; then git log; elif [[ $a == b ]]; then git status; else git diff; fi",
        "case $x in a) git log;; *) git status;; esac",
        "for f in a b; do git status; done",
        'out="$(git log)"; git status',
        "git log > /dev/null 2>&1",
        "git log < file",
        "git apply <<'EOF'\n$(rm x) `rm y`\nEOF",
        r"g\it log",
        '"git" status',
        "$'git' status",
        "git log src/*.py",
        "nohup git gc",
        "time -p git log",
        "timeout 5 git fetch",
        "command git log",
        "env git log",
        "bash -c 'git log && git status'",
        "eval 'git log'",
        "git fetch || exit 1",
        "git log # rm -rf x",
        "git log --oneline -5 --stat -- 'src/a b'",
        "git commit -am 'x' && git switch -c y",
        "git commit -m \"$(git log <<'EOF'\nfix: don't $(rm x), a; b\n\nEOF\n)\"",
        "git apply - <<'EOF'\nrm x\nEOF",
        "git log \\\n  -p \\\n  HEAD",
        'git commit -m "a\nb $x ${y:-z} \\" c"',
        "git log\n\n# don't\ngit status\n",
    ],
)
def test_git_with_any_arguments_is_allowed_by_a_rule_for_it(command: str) -> None:
    assert allows(command, "bash(git *)")
    assert allows(command, "bash(git:*)")


@pytest.mark.parametrize(
    "command",
    [
        "git log; rm -rf x",
        "git log && rm x",
        "git log || rm x",
        "git log | sh",
        "git log & rm x",
        "git log\nrm x",
        "git log $(rm x)",
        "git log `rm x`",
        'git log "$(rm x)"',
        'git log "`rm x`"',
        "git diff <(rm x)",
        "git log ${x:-$(rm x)}",
        "git log ${x:-`rm x`}",
        "git log $((a[$(rm x)]))",
        "git log $((x))",
        "git log <<EOF\n$(rm x)\nEOF",
        "git log <<EOF\n`rm x`\nEOF",
        'git log <<< "$(rm x)"',
        "git log > out.txt",
        "git log >> out.txt",
        "git log &> out.txt",
        "git log >| out.txt",
        'git log > "$f"',
        "git log > /dev/tcp/host/80",
        "git -c core.pager='rm x' log",
        "git -ccore.pager=x log",
        "git rebase --exec 'rm x' main",
        "git clone -u 'rm x' a b",
        "git grep -Orm x",
        "git bisect run rm",
        "git clone ext::sh%20-c%20x",
        "git $options log",
        "GIT_PAGER='rm x' git log",
        "PATH=/tmp/evil:$PATH; git log",
        "export GIT_PAGER='rm x'; git log",
        "for PATH in /tmp; do git log; done",
        "/tmp/git log",
        "./git log",
        "sudo git log",
        "$git log",
        "gi? log",
        "{git,log}",
        "git lo\\\ng; rm x",
        "f() { rm x; }; git log",
        "git() { rm x; }; git log",
        "bash -c 'git log; rm x'",
        'bash -c "$x"',
        "git log | bash",
        "bash <<< 'git log'",
        "bash script.sh",
        "eval $x",
        "xargs git",
        "find . -exec git log {} \\;",
        "trap 'rm x' EXIT; git log",
        "env GIT_PAGER=rm git log",
        "env -S 'git log'",
        "coproc git log",
        "git log; }",
        "if git log",
        "git log '",
        "git log\x00",
        "git log\u2028rm x",
        "echo ${x@P}; git log",
        "[ -v 'a[$(rm x)]' ] && git log",
        "[[ $x -eq 1 ]] && git log",
        "((x = 1)); git log",
        # What the parser itself takes for a comment, for text, for a part of a word or for the end of a document.
        "git log \\ # ; rm x",
        "git log \\\t#| rm x",
        'git log "$ $(rm x)"',
        'git log "$#a $ `rm x`"',
        "[[ a = `rm x` ]] && git log",
        "< \\ \n\n rm",
        "git log x \\\n; <<< $ rm",
        "git log <<EOF\n\\\"'$(rm x)'\nEOF\n",
        "git log <<EOF\n$a `rm x`",
        'git log <<EOF "\n"rm\nEOF',
        "git log <<EOF\nEO\\\nF\nrm x\nEOF\n",
        # Options that make git run something, shortened or joined with others.
        "git fetch --upload='rm x' .",
        "git grep --open='rm' x",
        "git grep -nOrm x",
        "git rebase -ix 'rm x' main",
        "git clone --config core.fsmonitor='rm x' a",
        "git clone -qc core.fsmonitor='rm x' a",
        "git log --outp=x",
        "git archive -o .bashrc HEAD",
        "git -C elsewhere status",
        "git --namespace a -c core.pager='rm x' log",
        'git commit -m "$@"',
        'git commit -m "${a[@]}"',
        'git fetch "$x"',
        "git send-email --sendmail-cmd='rm x'",
        "git hook run x",
        "git credential fill",
        "",
    ],
)
def test_nothing_more_is_allowed_by_a_rule_for_git(command: str) -> None:
    assert not allows(command, "bash(git *)")


@pytest.mark.parametrize(
    ("rule", "command", "allowed"),
    [
        ("bash(git log)", "git log", True),
        ("bash(git log)", "git log -p", False),
        ("bash(git log *)", "git log", True),
        ("bash(git log *)", "git logger", False),
        ("bash(git * main)", "git checkout main", True),
        ("bash(git * main)", "git checkout -b main", False),
        ("bash(npm run test*)", "npm run test:unit", True),
        ("bash(git commit -m 'a b')", 'git commit -m "a b"', True),
        ("bash(echo '*')", "echo x", False),
        ("bash(A=1 make *)", "A=1 make all", True),
        ("bash(A=1 make *)", "A=2 make all", False),
        ("bash(sudo git *)", "sudo git log", True),
        ("bash(sudo *)", "sudo rm x", False),
        ("bash(git -c a=b log *)", "git -c a=b log -p", True),
        ("bash(find . -delete)", "find . -delete", True),
        ("bash(find *)", "find . -delete", False),
        ("bash(find *)", "find . -name x", True),
        ("bash(*)", "$x; rm `y`", True),
        ("bash", "rm x", True),
        ("b*", "rm x", True),
        ("read", "rm x", False),
    ],
)
def test_a_pattern_is_compared_with_the_words_of_a_command(rule: str, command: str, allowed: bool) -> None:
    assert allows(command, rule) is allowed


@pytest.mark.parametrize(
    "command",
    [
        "tar -xIrm f",
        "tar cfI out rm x",
        "tar -xf x --to-c=rm",
        "sed -ni s/a/b/ f",
        "sed '1e rm x' f",
        "sed 's/a/rm x/e;p' f",
        "sed s/a/b/gw/tmp/x f",
        "sed -n '1w/tmp/x' f",
        "sed -ne p --expression='1e rm' f",
        "sed -f script f",
        "awk --file x",
        "gawk -l x",
        "sort -uo f g",
        "sort --compress-prog=rm f",
        "rsync -ave rm a b",
        "curl -sSLo f https://x",
        "ssh -vo ProxyCommand=rm h",
        "wget -qO f https://x",
        "split --filter=rm f",
        "make CC='rm x'",
        "make -f other",
        "npm exec rm",
        "npm --loglevel silly exec rm",
        "less -No f g",
        "fd -Hx rm",
        "read 'a[$(rm x)]'",
        "unset 'a[$(rm x)]'",
        "declare -i x='a[$(rm x)]'",
        "export 'a[$(rm x)]=1'",
        "let 'a[$(rm x)]=1'",
        "test -v 'a[$(rm x)]'",
        "command [ -v 'a[$(rm x)]' ]",
        "mapfile -C 'rm x' -c 1 y",
        "compgen -W '$(rm x)'",
        "hash -p /bin/rm ls",
        "source /dev/stdin",
        "read -r PATH <<< /tmp/evil",
        "mapfile GIT_PAGER",
        "git mv evil.sh .git/hooks/pre-commit",
        "git mv evil.sh ./x/../.GIT/hooks/pre-commit",
        "git clone https://x /home/me/.config/marvin/hooks/x",
        "git clone https://x ../../.config/marvin/hooks/x",
        "git worktree add /home/me/.config/marvin/hooks/x evil",
        "git -P worktree add src/../../x",
        "git init /home/me/x",
        "uniq payload /home/me/.bashrc",
        "uniq -f 1 -- payload -out",
        "uniq -c payload*",
        "xxd -r -p payload /home/me/.bashrc",
        "split -b 10 payload /home/me/.x",
        "shuf -eo /home/me/.bashrc x",
        "iconv -f utf8 -o x y",
        "yq -i .a=1 f",
        "openssl enc -in a -out b",
        "npm test -C /tmp/evil",
        "npm run x --userconfig ./evilrc",
        "pnpm --dir /tmp/evil test",
        "yarn --cwd /tmp/evil test",
        "bun test --preload ./evil.ts",
        "gh config set pager evil",
        "gh release download -O /home/me/.bashrc",
        "go env -w CC=evil",
        "mypy --python-exec ./evil x",
    ],
)
def test_a_wildcard_does_not_cover_what_makes_a_program_run_or_write_something_else(command: str) -> None:
    program = command.split()[0]
    assert not allows(command, f"bash({program} *)", "bash([ *)")


@pytest.mark.parametrize(
    "command",
    [
        "sed -n '10,20p' f",
        "sed -E -e 's/(a|b)/c/g' -e '$d' f",
        "tar -xzf a.tgz -C b",
        "tar xvf a",
        "curl -sXPOST -H 'Accept: x' https://x",
        "rsync -av a b",
        "sort -t, -k2 f",
        "make -j4 test",
        "npm run x",
        "awk '{print $1}' f",
        "read -r x",
        "export x=1",
        "test -f x",
        "wait $x",
        "less -N f",
        "pytest -xq -k 'a and b'",
        "uniq -c",
        "uniq -f 1 a",
        "xxd -l 64 a",
        "split -b 10m a",
        "iconv -f latin1 -t utf-8 a",
        "base64 -d a",
        "yq -o json .a f",
        "openssl x509 -in a -text",
        "npm test -- --coverage",
        "pnpm -r --filter web test",
        "bun test -t x",
        "git clone https://github.com/a/b.git",
        "git clone git@host:a/b.git vendor/b",
        "git worktree list",
        "git mv .gitignore .github/x",
        "git diff -- a.git/x ../sibling",
        "gh release list",
        "go env GOPATH",
        "mypy --python-version 3.12 src",
    ],
)
def test_a_wildcard_covers_ordinary_arguments(command: str) -> None:
    assert allows(command, f"bash({command.split()[0]} *)")


@pytest.mark.parametrize("command", ["[[ a && rm x ]]; git log", "git log $'a\\';rm x #'", "git log &>/dev/null"])
def test_where_there_is_no_bash_its_own_syntax_is_not_judged_by_it(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not allows(command, "bash(git *)")
    assert touches(command, "bash(rm *)") == "maybe"
    assert allows("git log -p | git apply", "bash(git *)")


def test_a_glob_in_a_path_does_not_climb_out_of_it() -> None:
    assert allows("rm build/a build/b/c", "bash(rm build/* build/*)")
    assert not allows("rm build/../src/a", "bash(rm build/*)")
    assert not allows("rm build/x/..", "bash(rm build/*)")
    assert allows("rm ../build/a", "bash(rm ../build/*)")
    assert allows("git diff ../a main..x", "bash(git diff *)")
    assert touches("rm build/../src/a", "bash(rm build/*)") == "yes"


def test_a_sum_of_numbers_is_no_command() -> None:
    assert allows("echo $((1 + 2 * 3))", "bash(echo *)")
    assert not allows("echo $((1 + a))", "bash(echo *)")


def test_several_rules_allow_a_pipe_together() -> None:
    assert allows("git log | head -5", "bash(git *)", "bash(head *)")
    assert not allows("git log | head -5 | sh", "bash(git *)", "bash(head *)")


@pytest.mark.parametrize(
    "command",
    [
        "find . -name '*.py' -exec grep -l foo {} +",
        "find src -type f -executable",
        "find . -exec grep -q foo {} \\; -print",
        "ls -1 | xargs -I{} grep foo {}",
        "ls | xargs -n1 grep foo",
    ],
)
def test_what_find_and_xargs_run_needs_a_rule_of_its_own_and_no_more(command: str) -> None:
    rules = ["bash(find *)", "bash(xargs *)", "bash(ls *)"]
    assert allows(command, *rules, "bash(grep *)")
    assert allows(command, *rules) == ("grep" not in command)
    assert suggests(command)


@pytest.mark.parametrize(
    "command",
    [
        "find . -exec sh -c 'grep {}' \\;",
        "find . -exec {} \\;",
        "find . -exec rm {} +",
        "find . -exec sort {} +",
        "find . -exec grep x {}",
        "find . -execdir grep x {} +",
        "find * -exec sort {} +",
        "find . -exec grep x {} + -delete",
        "find . -exec grep x {} + -exec rm {} +",
        "ls | xargs -I{} sh -c 'grep {}'",
        "ls | xargs -I{} {}",
        "ls | xargs sort",
        "ls | xargs -I{} sort {}",
    ],
)
def test_find_and_xargs_do_not_spread_what_is_allowed(command: str) -> None:
    assert not allows(command, *(f"bash({name} *)" for name in ("find", "xargs", "ls", "grep", "sort", "sh")))


def test_sudo_needs_a_rule_and_so_does_what_it_runs() -> None:
    assert allows("sudo apt update", "bash(sudo *)", "bash(apt *)")
    assert not allows("sudo apt update", "bash(apt *)")


def test_a_file_that_is_written_by_redirection_needs_a_rule_for_write() -> None:
    assert allows("git log > out/log", "bash(git *)", "write(out/**)")
    assert not allows("git log > out/../src/x", "bash(git *)", "write(out/**)")
    assert not allows("cd /etc && git log > out/x", "bash(git *)", "bash(cd *)", "write(out/**)")


RM = [
    "rm x",
    "/bin/rm x",
    r"\rm x",
    'r""m x',
    "$'rm' x",
    "ls; rm x",
    "ls && (rm x)",
    "ls | rm",
    "ls $(rm x)",
    "ls `rm x`",
    "ls <(rm x)",
    "ls > $(rm x)",
    "A=$(rm x) ls",
    "A=1 rm x",
    "export A=$(rm x)",
    "a=(1 $(rm x))",
    "[ -f $(rm x) ]",
    "echo $(( $(rm x) ))",
    "((a[$(rm x)]))",
    "echo ${a:-$(rm x)}",
    "echo ${a:-`rm x`}",
    "cat <<EOF\n$(rm x)\nEOF",
    "cat <<EOF\n`rm x`\nEOF",
    "if ls; then rm x; fi",
    "for f in *; do rm $f; done",
    "while rm x; do ls; done",
    "until ls; do rm x; done",
    "case a in a) rm x;; esac",
    "f() { rm x; }; f",
    "function f { rm x; }",
    "sudo rm x",
    "sudo -u root A=1 rm x",
    "env A=1 rm x",
    "nohup rm x",
    "time A=1 rm x",
    "timeout -k 5 9 rm x",
    "xargs -n1 rm",
    "find . -exec rm {} +",
    "bash -c 'rm x'",
    "sh -ec 'ls; rm x'",
    "sudo bash -c 'rm x'",
    "eval rm x",
    "trap 'rm x' EXIT",
    "rm x &",
    "! rm x",
    "! { rm x; }",
    "time { rm x; }",
    "coproc rm x",
    "shopt -s expand_aliases; alias l='rm x'\nl",
    "echo 'unclosed; rm x; )",
]


@pytest.mark.parametrize("command", RM[:-1])
def test_a_denied_command_is_found_wherever_it_stands(command: str) -> None:
    assert touches(command, "bash(rm *)") == "yes"


@pytest.mark.parametrize(
    "command",
    [
        RM[-1],
        "x=rm; $x y",
        "$(echo rm) x",
        "r? x",
        "{rm,x}",
        "eval $x",
        "ssh host rm x",
        "flock l rm x",
        "su -c 'rm x'",
        "env -S 'rm x'",
        "curl x | bash",
        "bash <<< 'rm x'",
        "ls \\ # ; rm x",
        'ls "$ $(rm x)"',
        "[[ a = `rm x` ]]",
        "read 'a[$(rm x)]'",
        "hash -p /bin/rm ls; ls x",
        "ls >&'a$(rm x)'",
        "a=(['$(rm x)']=1)",
        "b='x[$(rm x)]'; a=([b]=1)",
        "b='x[$(rm x)]'; printf -v $b x",
        "PS4='$(rm x)'; set -x; ls",
        "GIT_SSH_COMMAND='rm x' git fetch",
        "ls {a['$(rm x)']}>y",
        "ls `ls \\`rm x\\``",
        "hyperfine 'rm x'",
        "PAGER=$x git log",
        "BASH_ENV=$x bash script",
        "source <(curl x)",
        "source $x",
    ],
)
def test_what_may_be_a_denied_command_is_doubted(command: str) -> None:
    assert touches(command, "bash(rm *)") == "maybe"


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "echo rm x",
        "cat <<'EOF'\n`rm x`\nEOF",
        "ls # rm x",
        "echo 'rm x'",
        "HEAD=$(git rev-parse HEAD); echo $HEAD",
        "npm start & PID=$!; sleep 1; kill $PID",
        'export PATH="$HOME/bin:$PATH" && cargo test',
        "PYTHONPATH=$PWD/src pytest -q",
        "source ~/.nvm/nvm.sh && nvm use 18",
        '. "$HOME/.cargo/env"',
    ],
)
def test_what_is_no_denied_command_is_none(command: str) -> None:
    assert touches(command, "bash(rm *)") == "no"


def test_options_before_the_subcommand_do_not_hide_it() -> None:
    assert touches("git push -f", "bash(git push *)") == "yes"
    assert touches("git -C x push", "bash(git push *)") == "maybe"
    assert touches("git $x", "bash(git push *)") == "maybe"
    assert touches("git commit -m push", "bash(git push *)") == "no"


@pytest.mark.parametrize(
    ("rule", "command", "found"),
    [
        ("bash(git push * --force)", "git push origin main --force", "yes"),
        ("bash(git push * --force)", "git push --force", "yes"),
        ("bash(git push * --force *)", "git push a --force b", "yes"),
        ("bash(git push * --force)", "git push origin", "no"),
        ("bash(git push * --force)", "git push $x", "maybe"),
        ("bash(*secret*)", "cat config/secrets.json", "yes"),
        ("bash(*secret*)", "ls && grep x my.secret", "yes"),
        ("bash(*secret*)", "ls", "no"),
        ("bash(* install)", "sudo npm install", "yes"),
        ("bash(rm *)", "git rm x", "no"),
        ("bash(rm *)", "git -c alias.x='!rm y' x", "maybe"),
        ("bash(rm *)", "git submodule foreach rm y", "maybe"),
        ("bash(rm *)", "awk 'BEGIN{system(\"rm x\")}'", "maybe"),
        ("bash(rm *)", "vim -c '!rm x'", "maybe"),
        ("bash(rm *)", "env - rm x", "yes"),
        ("bash(rm *)", "watch -n1 'rm x'", "yes"),
    ],
)
def test_a_deny_reads_its_pattern_widely(rule: str, command: str, found: Match) -> None:
    assert touches(command, rule) == found


def test_where_a_redirection_cannot_be_read_it_may_be_to_any_file() -> None:
    assert touches("ls 1<>.env", "write(.env)") == "maybe"
    assert touches("ls \\ # x >.env", "write(.env)") == "maybe"
    assert touches("x=$((x+1))", "write(.env)") == "no"


def test_git_in_a_repository_that_came_with_the_project_is_not_covered(tmp_path: Path) -> None:
    for name in ("src", "bare.git/objects", "nested/.git", "bare.git/refs/deep"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "bare.git" / "HEAD").touch()
    where = Where(str(tmp_path), str(tmp_path), "/home/me", lambda path: os.path.join(tmp_path, path))
    rules = [parse_rule("bash(cd *)"), parse_rule("bash(git *)")]

    def covered(command: str) -> bool:
        return CommandSubject(command, where).covered_by(rules)

    assert covered("cd src && git status")
    assert covered(f"cd {tmp_path} && git status")
    for place in ("bare.git", "bare.git/refs/deep", "nested", "..", "$x", "~", "src && cd ../nested"):
        assert not covered(f"cd {place} && git status"), place
    assert CommandSubject("cd nested && git status", where).suggestions(rules) == ()


def test_a_deny_for_writing_finds_redirections() -> None:
    assert touches("echo x > .env", "write(.env)") == "yes"
    assert touches("echo x >> ./a/../.env", "edit(.env)") == "yes"
    assert touches('echo x > "$f"', "write(.env)") == "maybe"
    assert touches("cd a; echo x > .env", "write(.env)") == "maybe"
    assert touches("echo x > .env", "write") == "yes"
    assert touches("cat < .env", "read(.env)") == "yes"
    assert touches("echo x > other", "write(.env)") == "no"


def test_what_to_remember_covers_the_command_and_little_more() -> None:
    assert suggests("git log --oneline") == ("git log *",)
    assert suggests("ls -l | head -5 && ls") == ("ls *", "head *")
    assert suggests("git log | head", "bash(git *)") == ("head *",)
    assert suggests("python x.py --now") == ("python x.py --now",)
    assert suggests("rm -rf 'a b'") == ("rm -rf 'a b'",)
    assert suggests("sudo apt update") == ("sudo apt update",)
    assert suggests("git log > out.txt", "bash(git *)") == ("write(out.txt)",)
    assert suggests("$x y") == ()


@pytest.mark.parametrize(
    ("command", "patterns"),
    [
        (".venv/bin/python x.py", (".venv/bin/python x.py",)),
        ("python3.12 -c 'print(1)'", ("python3.12 -c 'print(1)'",)),
        ("/bin/rm -r x", ("/bin/rm -r x",)),
        (".venv/bin/pip list -v", (".venv/bin/pip list *",)),
        ("git config --get user.name", ("git config --get user.name",)),
        ("npm install left-pad", ("npm install left-pad",)),
        ("go run example.com/x@latest", ("go run example.com/x@latest",)),
        ("bundle exec ruby x", ("bundle exec ruby x",)),
        ("cp a b", ("cp a b",)),
        ("git push origin HEAD", ("git push origin HEAD",)),
        ("git reset --soft HEAD", ("git reset --soft HEAD",)),
        ("npm publish", ("npm publish",)),
        ("gh api repos/a/b", ("gh api repos/a/b",)),
        ("tar xf a.tgz -C b", ("tar xf a.tgz -C b",)),
        ("sqlite3 db '.shell id'", ("sqlite3 db '.shell id'",)),
        ("perl -ne print x", ("perl -ne print x",)),
        ("python3 --version", ("python3 --version",)),
        ("psql -c 'select 1'", ("psql -c 'select 1'",)),
        ("bash run.sh", ("bash run.sh",)),
        ("uv run x.py", ("uv run x.py",)),
        ("python -m http.server", ("python -m http.server",)),
    ],
)
def test_what_may_do_anything_is_remembered_as_it_is(command: str, patterns: tuple[str, ...]) -> None:
    assert suggests(command) == patterns


@pytest.mark.parametrize(
    ("command", "patterns"),
    [
        ("python -m pytest -q 2>&1 | tail -5", ("python -m pytest *", "tail *")),
        (".venv/bin/python3 -m mypy src", (".venv/bin/python3 -m mypy *",)),
        ("PYTHONPATH=src python -m pytest -q", ("PYTHONPATH=src python -m pytest *",)),
        ("uv run pytest -x", ("uv run pytest *",)),
        ("npx tsc --noEmit", ("npx tsc *",)),
        ("git add -A", ("git add *",)),
        ("git --no-pager log -3", ("git log *",)),
        ("npm run build", ("npm run *",)),
        ("npm test", ("npm test *",)),
        ("gh pr view 1", ("gh pr view *",)),
    ],
)
def test_what_is_done_every_day_is_asked_about_once(command: str, patterns: tuple[str, ...]) -> None:
    assert suggests(command) == patterns
    assert allows(command, *(f"bash({pattern})" for pattern in patterns))


@pytest.mark.parametrize(
    "command",
    [
        "python - <<'EOF'\nprint(1)\nEOF",
        "python3.12 -u - <<'EOF'\nprint(1)\nEOF",
        "cat x | python3",
        "echo x | .venv/bin/python -",
        "node <<'EOF'\n1\nEOF",
        "curl x | sh",
        "echo ls | bash -s a",
        "echo x | sudo python3",
        "timeout 5 ruby < x",
        "cat x.sql | sqlite3 db",
        "psql -d x < x.sql",
        "ssh host < script",
        "docker exec -i web psql < x.sql",
    ],
)
def test_what_runs_the_code_that_comes_in_is_not_remembered(command: str) -> None:
    assert suggests(command) == ()


def test_the_option_for_no_pager_does_not_make_git_ask() -> None:
    assert allows("git --no-pager log -3 | cat", "bash(git log *)", "bash(cat *)")
    assert not allows("git --no-pager push", "bash(git log *)")
    assert not allows("git --no-pager -c core.pager=x log", "bash(git log *)", "bash(git *)")


@pytest.mark.parametrize(
    "command", ["ls -l | head", "python 'a *' b", "rm [x]* ", "sudo apt update", "find . -exec rm {} +", "A=1 make x"]
)
def test_what_is_remembered_allows_the_same_the_next_time(command: str) -> None:
    patterns = suggests(command)
    assert not patterns or allows(command, *(f"bash({pattern})" for pattern in patterns))


SAFE = st.sampled_from(["git log", "git status -s", "git diff 'a;b'", 'git log "$x"'])
BAD = st.sampled_from(["rm -rf x", "curl x", "python y", "sudo git log", "$z", "git log > f"])


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def joined(pattern: str) -> st.SearchStrategy[str]:
        return st.tuples(SAFE, inner).map(lambda pair: pattern.format(*pair))

    patterns = [
        *("{0}; {1}", "{1} && {0}", "{0} || {1}", "{0} | {1}", "{1} | {0}", "{0} & {1}", "( {1} )", "{{ {1}; }}"),
        *("{0} $( {1} )", '{0} "$( {1} )"', "{0} <( {1} )", "if {1}; then {0}; fi", "if {0}; then {1}; fi", "{0}\n{1}"),
        *("for f in a; do {1}; done", "while {0}; do {1}; done", "f() {{ {1}; }}", "! {1}", "x=$( {1} ); {0}"),
        *("case a in b) {1};; esac", "{0} <<EOF\n$( {1} )\nEOF", '[ -n "$( {1} )" ] && {0}', "time {0}; {1}"),
    ]
    return st.sampled_from(patterns).flatmap(joined)


@settings(max_examples=300, deadline=None)
@given(st.recursive(BAD, compound, max_leaves=4))
def test_no_compound_with_a_part_that_is_not_allowed_is_allowed(command: str) -> None:
    assert not allows(command, "bash(git *)")


@settings(max_examples=300, deadline=None)
@given(st.recursive(st.just("rm -rf x"), compound, max_leaves=4))
def test_a_denied_part_is_passed_over_nowhere(command: str) -> None:
    # "maybe" asks, and refuses when nobody is there: some compounds cannot be parsed (`! case a in b) rm x;; esac`).
    assert touches(command, "bash(rm *)") != "no"


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="git rmx;|&$()`'\"\\<>{}[]*?~#=-\n \t", max_size=30))
def test_no_text_breaks_the_parser(command: str) -> None:
    take_apart(command)


# What the parser and bash may see differently, in any order.
PIECES = st.sampled_from(
    [
        *(
            "evil",
            "git",
            "echo",
            "x",
            "a=",
            "$(evil)",
            "`evil`",
            "$x",
            "${x:-",
            "}",
            "$",
            "(",
            ")",
            "{",
            ";",
            "&&",
            "|",
        ),
        *("&", "\n", " ", "\t", "\\", "\\\n", "'", '"', "$'", "#", "!", "<", ">", "<<<", "<<E\n", "\nE\n", "<<'E'\n"),
        *(
            "<(",
            "[[",
            "]]",
            "=",
            "if",
            "then",
            "fi",
            "for",
            "in",
            "do",
            "done",
            "case",
            "esac",
            ";;",
            "f()",
            "time",
            "[a]=",
        ),
    ]
)


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(["echo {} evil", "git log {}evil{}", 'echo "{}evil{}"', "echo <<E\n{}evil{}\nE\n{}", "{} evil {}"]),
    st.lists(PIECES, max_size=5),
    st.sampled_from(["", " "]),
)
def test_what_is_allowed_runs_nothing_else_in_bash(
    tmp_path_factory: pytest.TempPathFactory, form: str, pieces: list[str], between: str
) -> None:
    middle = len(pieces) // 2
    halves = between.join(pieces[:middle]), between.join(pieces[middle:]), ""
    command = form.format(*halves)
    if "\0" in command or not allows(command, "bash(git *)", "bash(echo *)"):
        return
    place = _empty(tmp_path_factory)
    programs = place / "programs"
    programs.mkdir()
    for name in ("evil", "git"):
        (programs / name).write_text(f"#!/bin/sh\n{'echo > ran' if name == 'evil' else ':'}\n")
        (programs / name).chmod(0o755)
    bash = shutil.which("bash")
    assert bash
    env = {"PATH": str(programs)}
    subprocess.run([bash, "-c", command], cwd=place, env=env, capture_output=True, input=b"", timeout=20, check=False)
    assert [path.name for path in place.iterdir()] == ["programs"], command


WORD = st.lists(
    st.sampled_from(
        ["a", "-", r"\ ", r"\"", "'b c'", '"d e"', '"f\\"g"', "$'h'", r"\\", '""', "=", "'*'", "%", "~", ","]
    )
)


@settings(max_examples=40, deadline=None)
@given(st.lists(WORD.map("".join).filter(bool), min_size=1, max_size=20))
def test_words_are_what_bash_makes_of_them(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    bash = shutil.which("bash")
    assert bash
    given_words = [word for word in words if word_of(word).known]
    command = "printf '%s\\0' " + " ".join(given_words)
    done = subprocess.run([bash, "-c", command], capture_output=True, check=True, cwd=_empty(tmp_path_factory))
    expected = done.stdout.decode().split("\0")[:-1]
    assert [word_of(word).text for word in given_words] == (expected if given_words else [])


def _empty(factory: pytest.TempPathFactory) -> Path:
    return factory.mktemp("empty")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is no rule"),
        ("bash(git", "is no rule"),
        ("bash git", "is no rule"),
        ("bash()", "empty pattern"),
        ("bash(git log | sh)", "a rule for each command"),
        ("bash(a; b)", "a rule for each command"),
        ("bash(git 'log)", "not closed"),
        ("Bash(rm *)", "marvin's are written small, bash"),
        ("Read", "marvin's are written small, read"),
    ],
)
def test_a_rule_that_is_none_says_what_is_wrong(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_rule(text)


def test_a_very_long_line_is_judged_before_the_time_limit_of_a_test() -> None:
    lines = [
        "git a;" * 10_000,
        ">a;" * 15_000,
        "cd x;" + "git a;" * 9_000,
        "git " + "a " * 30_000,
        "git " + "-c " * 20_000,
    ]
    for line in lines:
        assert not allows(line, "bash(git log *)", "bash(cd *)", "write(out/**)")
        assert touches(line, "bash(git * push *)") in ("no", "maybe")
        assert touches(line, "write(.env)") == "no"
