package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs/auth"
)

func TestUserCommands(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	mustRun(t, goodPassword, "user", "add", "ann@example.org", "--data", data, "--password-stdin")
	mustRun(t, goodPassword, "user", "add", "--data", data, "--password-stdin", "--role", "publisher",
		"--hdfs-user", "robert", "--uid", "7", "--gid", "8", "bob")

	got := mustRun(t, "", "user", "ls", "--data", data)
	for _, want := range []string{"NAME", "ann@example.org  user       ann_example.org  20000  20000", "bob              publisher  robert           7      8"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("user ls has no %q:\n%s", want, got.stdout)
		}
	}
	got = mustRun(t, "", "user", "ls", "--json", "--data", data)
	var lines []accountLine
	for dec := json.NewDecoder(strings.NewReader(got.stdout)); dec.More(); {
		var line accountLine
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if len(lines) != 2 || lines[1].Name != "bob" || lines[1].Role != auth.Publisher || lines[1].UID != 7 || lines[1].Created.IsZero() {
		t.Errorf("user ls --json: %+v", lines)
	}
	if strings.Contains(got.stdout, "argon2") {
		t.Errorf("user ls tells a password hash:\n%s", got.stdout)
	}

	mustRun(t, "another horse", "user", "passwd", "bob", "--data", data, "--password-stdin")
	mustRun(t, "", "user", "role", "bob", "admin", "--data", data)
	mustRun(t, "", "user", "set", "bob", "--hdfs-user", "bobby", "--gid", "9", "--data", data)
	if got := run(t, "", "user", "set", "bob", "--uid", "20000", "--data", data); got.code != int(cliio.Exists) || !strings.Contains(got.stderr, "ann@example.org") {
		t.Errorf("the uid of another: code %d, %q", got.code, got.stderr)
	}
	mustRun(t, "", "user", "rm", "ann@example.org", "--data", data)
	if got := run(t, "", "user", "set", "bob", "--hdfs-user", "ann_example.org", "--data", data); got.code != int(cliio.Exists) {
		t.Errorf("the HDFS user of a removed account: code %d, %q", got.code, got.stderr)
	}
	accounts, err := auth.OpenAccounts(filepath.Join(data, auth.AccountsFile), auth.AccountsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bob, err := accounts.Verify(context.Background(), "bob", "another horse", "")
	if want := (auth.Identity{Name: "bob", Role: auth.Admin, HDFSUser: "bobby", UID: 7, GID: 9}); err != nil || bob.Identity != want {
		t.Errorf("bob is %+v, %v; want %+v with the new password", bob, err, want)
	}
	if n := len(accounts.List()); n != 1 {
		t.Errorf("%d accounts, want 1", n)
	}
}

func TestVersion(t *testing.T) {
	if got, flag := mustRun(t, "", "version"), mustRun(t, "", "--version"); got != flag || !strings.HasPrefix(got.stdout, "pfsd "+version) {
		t.Errorf("version prints %q, --version %q", got.stdout, flag.stdout)
	}
	var v versionJSON
	if err := json.Unmarshal([]byte(mustRun(t, "", "version", "--json").stdout), &v); err != nil || v.Version != version || v.Protocol == 0 {
		t.Errorf("version --json: %+v, %v", v, err)
	}
}

func TestUsageErrorsHint(t *testing.T) {
	if got := run(t, "", "user", "add"); got.code != int(cliio.Usage) || !strings.HasSuffix(got.stderr, "\nhint: pfsd user add --help\n") {
		t.Errorf("code %d, %q", got.code, got.stderr)
	}
}

func TestInterruptedCommand(t *testing.T) {
	var errs bytes.Buffer
	m := &Main{Stdin: strings.NewReader(goodPassword), Stdout: &bytes.Buffer{}, Stderr: &errs}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	code := m.Run(ctx, []string{program, "user", "add", "ann", "--data", t.TempDir(), "--password-stdin"})
	if code != int(cliio.Interrupted) || errs.String() != "pfsd: interrupted\n" {
		t.Errorf("code %d, %q", code, errs.String())
	}
}

func TestUserErrors(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	missing := filepath.Join(t.TempDir(), "missing")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, goodPassword, "user", "add", "ann", "--data", data, "--password-stdin")
	noDirectory := "pfsd: there is no directory " + missing + ": is --data right? pfsd serve --data " + missing + " makes it\n"
	tests := []struct {
		args  string
		stdin string
		code  cliio.Code
		says  string
	}{
		{"user add ann --password-stdin --data " + data, goodPassword, cliio.Exists, `"ann"`},
		{"user add Ann --password-stdin --data " + data, goodPassword, cliio.Exists, "too like"},
		{"user add \u0430nn --password-stdin --data " + data, goodPassword, cliio.Usage, "choose another name"},
		{"user add root --password-stdin --data " + data, goodPassword, cliio.Usage, "choose another name"},
		{"user add --password-stdin --data " + data + " -- -rf", goodPassword, cliio.Usage, "choose another name"},
		{"user add $(id) --password-stdin --data " + data, goodPassword, cliio.Usage, "choose another name"},
		{"user add bob --uid 20000 --password-stdin --data " + data, goodPassword, cliio.Exists, "uid 20000"},
		{"user add bob --password-stdin --data " + data, "short\n", cliio.Usage, "8 to 1024"},
		{"user add bob --password-stdin --data " + data, "", cliio.Usage, "8 to 1024"},
		{"user add bob --password-stdin --data " + data, strings.Repeat("x", 5000), cliio.Usage, "8 to 1024"},
		{"user add bob --password-stdin --data " + data, "two lines\nof it\n", cliio.Usage, "one line"},
		{"user passwd bob --password-stdin --data " + data, goodPassword, cliio.NotFound, `"bob"`},
		{"user role bob admin --data " + data, "", cliio.NotFound, `"bob"`},
		{"user role ann root --data " + data, "", cliio.Usage, "root"},
		{"user set bob --uid 30000 --data " + data, "", cliio.NotFound, `"bob"`},
		{"user set ann --data " + data, "", cliio.Usage, "--hdfs-user"},
		{"user set ann --uid -1 --data " + data, "", cliio.Usage, "-1"},
		{"user set ann --hdfs-user a@b --data " + data, "", cliio.Usage, "a@b"},
		{"user rm bob --data " + data, "", cliio.NotFound, `"bob"`},
		{"user ls --data " + missing, "", cliio.NotFound, noDirectory},
		{"user rm ann --data " + missing, "", cliio.NotFound, noDirectory},
		{"user role ann admin --data " + missing, "", cliio.NotFound, noDirectory},
		{"user passwd ann --password-stdin --data " + missing, goodPassword, cliio.NotFound, noDirectory},
		{"user add .snap --password-stdin --data " + missing, goodPassword, cliio.Usage, "choose another name"},
		{"user add .snapshot --password-stdin --data " + missing, goodPassword, cliio.Usage, "choose another name"},
		{"user add ../ann --password-stdin --data " + missing, goodPassword, cliio.Usage, "slash"},
		{"user add ann --password-stdin --data " + file, goodPassword, cliio.Exists, file + " is a file"},
		{"user ls --data " + file, "", cliio.Exists, file + " is a file"},
	}
	for _, tt := range tests {
		got := run(t, tt.stdin, strings.Fields(tt.args)...)
		if got.code != int(tt.code) || !strings.Contains(got.stderr, tt.says) {
			t.Errorf("pfsd %s: code %d, stderr %q; want code %d and %q", tt.args, got.code, got.stderr, tt.code, tt.says)
		}
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("a directory was made by a command that only looks")
	}
	if got := mustRun(t, "", "user", "ls", "--json", "--data", data); strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("accounts after all that was refused:\n%s", got.stdout)
	}
}

// user add reports a directory that it creates, because the path may be a typing error.
func TestUserAddTellsOfANewDirectory(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	const added = "pfsd: added ann: role user, HDFS user ann, uid 20000, gid 20000\n"
	first := mustRun(t, goodPassword, "user", "add", "ann", "--data", data, "--password-stdin")
	if want := "pfsd: created " + data + ", which did not exist\n" + added; first.stderr != want {
		t.Errorf("stderr %q, want %q", first.stderr, want)
	}
	second := mustRun(t, goodPassword, "user", "add", "bob", "--data", data, "--password-stdin")
	if strings.Contains(second.stderr, "made") {
		t.Errorf("stderr %q, and nothing was made", second.stderr)
	}
}

// An error is reported once, without the words of the Kind.
func TestMessages(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	mustRun(t, goodPassword, "user", "add", "ann", "--data", data, "--password-stdin")
	tests := []struct {
		args, says string
		code       cliio.Code
	}{
		{"user rm bob --data " + data, `no account "bob"`, cliio.NotFound},
		{"user add ann --password-stdin --data " + data, `there is an account "ann" already: pfsd user passwd gives it another password`, cliio.Exists},
		{"serve --data " + data + " --audit-log /none/log", "--audit-log: open /none/log: no such file or directory", cliio.NotFound},
		{"serve --data " + data + " --listen 127.0.0.1:0 --datacenter a=file:///none", `datacenter a: directory "/none": no such file or directory`, cliio.NotFound},
		{"serve --data " + data + " --tls-cert /none/c --tls-key k", "--tls-cert and --tls-key: open /none/c: no such file or directory", cliio.NotFound},
	}
	for _, tt := range tests {
		got := run(t, goodPassword, strings.Fields(tt.args)...)
		if want := "pfsd: " + tt.says + "\n"; got.code != int(tt.code) || got.stderr != want {
			t.Errorf("pfsd %s: code %d, %q; want %d, %q", tt.args, got.code, got.stderr, tt.code, want)
		}
	}
}

func TestHelpVersionCompletion(t *testing.T) {
	tests := []struct{ args, says string }{
		{"", "Subcommands:"},
		{"--help", "serve"},
		{"help", "completion"},
		{"help serve", "--datacenter NAME=URL"},
		{"help user add", "--password-stdin"},
		{"serve --help", "127.0.0.1:8730"},
		{"user add -h", "HDFS user"},
		{"version", "protocol 1"},
		{"completion bash", "complete -o default -F _pfsd pfsd"},
		{"completion zsh", "#compdef pfsd"},
		{"completion fish", "complete -c $program -a '(__pfsd_complete)'"},
	}
	for _, tt := range tests {
		got := mustRun(t, "", strings.Fields(tt.args)...)
		if !strings.Contains(got.stdout, tt.says) || got.stderr != "" {
			t.Errorf("pfsd %s: no %q in\n%s%s", tt.args, tt.says, got.stdout, got.stderr)
		}
	}
}

func TestCandidates(t *testing.T) {
	data := dataFor(t)
	mustRun(t, goodPassword, "user", "add", "ann", "--data", data, "--password-stdin")
	for _, tt := range []struct {
		words []string
		want  string
	}{
		{[]string{"u"}, "user"},
		{[]string{""}, "serve check user version completion help"},
		{[]string{"user", "r"}, "role rm"},
		{[]string{"serve", "--log-"}, "--log-format --log-level"},
		{[]string{"serve", "--log-format", ""}, "json text"},
		{[]string{"serve", "--log-level=w"}, "--log-level=warn"},
		{[]string{"serve", "--data", ""}, ""},
		{[]string{"user", "add", "--role", "p"}, "publisher"},
		{[]string{"user", "role", "ann", ""}, "admin publisher user"},
		{[]string{"user", "rm", "--data", data, "an"}, "ann"},
		{[]string{"user", "passwd", "--data=" + data, ""}, "ann"},
		{[]string{"user", "rm", "--data", data + "/none", ""}, ""},
		{[]string{"completion", ""}, "bash fish zsh"},
		{[]string{"help", "c"}, "check completion"},
	} {
		got := mustRun(t, "", append([]string{"__complete", "--"}, tt.words...)...)
		if words := strings.Join(strings.Fields(got.stdout), " "); words != tt.want {
			t.Errorf("%q: %q, want %q", tt.words, words, tt.want)
		}
	}
}

func TestCanceledCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errOut bytes.Buffer
	m := &Main{Stdin: strings.NewReader(goodPassword), Stdout: &out, Stderr: &errOut}
	args := []string{program, "user", "add", "ann", "--data", filepath.Join(t.TempDir(), "d"), "--password-stdin"}
	if code := m.Run(ctx, args); code != int(cliio.Interrupted) {
		t.Errorf("code %d, want %d: %s", code, cliio.Interrupted, &errOut)
	}
}
