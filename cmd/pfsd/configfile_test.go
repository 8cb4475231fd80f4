package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// writeConfig writes a configuration file into dir and returns its name.
func writeConfig(t *testing.T, dir, text string) string {
	t.Helper()
	name := filepath.Join(dir, "pfsd.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestWrongConfigFiles(t *testing.T) {
	tests := []struct {
		name, text string
		code       cliio.Code
		says       []string
	}{
		{"unknown option", "data: d\nlisen: 127.0.0.1:0\n", cliio.Usage, []string{":2:", `"lisen"`, `did you mean "listen"`}},
		{"an option twice", "data: d\ndata: e\n", cliio.Usage, []string{":2:", "line 1"}},
		{"a list for a text", "data: [a]\n", cliio.Usage, []string{":1:", "data"}},
		{"not a number", "data: d\nmax-requests: many\n", cliio.Usage, []string{":2:", "max-requests"}},
		{"not true or false", "data: d\nno-tls: perhaps\n", cliio.Usage, []string{":2:", "no-tls"}},
		{"no YAML", "data: d\n\tx\n", cliio.Usage, []string{":2:"}},
		{"a list at the top", "- data\n", cliio.Usage, []string{":1:", "a list"}},
		{"two documents", "data: d\n---\ndata: e\n", cliio.Usage, []string{"second YAML document"}},
		{"datacenters as a list", "data: d\ndatacenters:\n- a\n", cliio.Usage, []string{":3:", "a list"}},
		{"a datacenter without a store", "data: d\ndatacenters:\n  dc1: {}\n", cliio.Usage, []string{":3:", "dc1", "URL"}},
		{"a datacenter's unknown key", "data: d\ndatacenters:\n  dc1:\n    stor: 'mem:'\n", cliio.Usage, []string{":4:", `did you mean "store"`}},
		{"a store of no known kind", "data: d\ndatacenters:\n  dc1: {store: s3://b}\n", cliio.Usage, []string{":3:", "s3"}},
		{"an option that the store does not have", "data: d\ndatacenters:\n  dc1: {store: 'mem:', options: {size: 3}}\n", cliio.Usage, []string{":3:", "size"}},
		{"a quota that is no size", "data: d\ndatacenters:\n  dc1: {store: 'mem:', home-quota: {bytes: much}}\n", cliio.Usage, []string{":3:", "home-quota: bytes", "500G"}},
		{"a quota below 1", "data: d\ndatacenters:\n  dc1: {store: 'mem:', home-quota: {files: 0}}\n", cliio.Usage, []string{":3:", "home-quota: files"}},
		{"an unknown engine", "data: d\ndatacenters:\n  dc1: {store: 'mem:', engine: slurm}\n", cliio.Usage, []string{":3:", "engine: \"slurm\" is not an engine", "local"}},
		{"an option without an engine", "data: d\ndatacenters:\n  dc1: {store: 'mem:', engine-options: {image: x}}\n", cliio.Usage, []string{":3:", "no option \"image\""}},
		{"a missing option of an engine", "data: d\ndatacenters:\n  dc1: {store: 'mem:', engine: kubernetes, engine-options: {service: 'https://h'}}\n", cliio.Usage, []string{":3:", "image is missing"}},
		{"a quota without a limit", "data: d\ndatacenters:\n  dc1: {store: 'mem:', home-quota: {}}\n", cliio.Usage, []string{":3:", "missing"}},
		{"a datacenter called public", "data: d\ndatacenters:\n  public: {store: 'mem:'}\n", cliio.Usage, []string{":3:", "/pfs/public"}},
		{"a current one that is not there", "data: d\ncurrent: b\ndatacenters:\n  a: {store: 'mem:'}\n", cliio.Usage, []string{"--current b"}},
		{"an unknown key of sftp", "data: d\nsftp: {port: 22}\n", cliio.Usage, []string{":2:", "port"}},
		{"an alias into the tree", "data: d\nsftp:\n  listen: 127.0.0.1:0\n  aliases:\n    /pfs/x: /pfs/y\n", cliio.Usage, []string{":5:", "outside /pfs"}},
		{"an alias out of the tree", "data: d\nsftp:\n  listen: 127.0.0.1:0\n  aliases:\n    /mnt/x: /etc\n", cliio.Usage, []string{":5:", "/etc"}},
		{"aliases without an address", "data: d\nsftp:\n  aliases: {/mnt/x: /pfs/y}\n", cliio.Usage, []string{"--sftp HOST:PORT"}},
		{"no data", "listen: 127.0.0.1:0\n", cliio.Usage, []string{"--data"}},
		{"empty", "", cliio.Usage, []string{"--data"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			name := writeConfig(t, dir, tt.text)
			for _, command := range []string{"serve", "check"} {
				got := run(t, "", command, "--config", name)
				if got.code != int(tt.code) {
					t.Errorf("%s: code %d, want %d\n%s", command, got.code, tt.code, got.stderr)
				}
				for _, says := range tt.says {
					if !strings.Contains(got.stderr, says) {
						t.Errorf("%s: stderr %q lacks %q", command, got.stderr, says)
					}
				}
			}
			if left, _ := os.ReadDir(dir); len(left) != 1 {
				t.Errorf("%d files are there after refusals, want the configuration alone", len(left))
			}
		})
	}
	if got := run(t, "", "serve", "--config", "/no/such/file"); got.code != int(cliio.NotFound) || !strings.Contains(got.stderr, "/no/such/file") {
		t.Errorf("a file that is not there: code %d, %s", got.code, got.stderr)
	}
}

// TestAllMistakesAreTold checks that all wrong keys and stores are reported, those of the file and
// of the command line, each in a line.
func TestAllMistakesAreTold(t *testing.T) {
	name := writeConfig(t, t.TempDir(), "lisen: x\ndatacenters:\n  a: {store: s3://b}\n  b: {store: 'mem:'}\n  c: {store: 'file:x'}\n  d: {stroe: 'mem:', optoins: {}}\n  e: {}\n")
	want := []string{
		":1: unknown key \"lisen\": did you mean \"listen\"?", ":3: datacenter \"a\": ", ":5: datacenter \"c\": ",
		":6: unknown key \"stroe\"", ":6: unknown key \"optoins\"", ":7: datacenter \"e\": ",
	}
	data := dataFor(t)
	for _, args := range [][]string{
		{"serve", "--config", name}, {"check", "--config", name},
		{"check", "--data", data, "--datacenter", "a=s3://b", "--datacenter", "b=mem:", "--datacenter", "c=file:x", "--datacenter", "d", "--datacenter", "b=mem:"},
	} {
		if args[1] == "--data" {
			want = []string{"--datacenter \"a\": ", "--datacenter \"c\": ", "--datacenter \"d\": ", "--datacenter b is given twice"}
		}
		got := run(t, "", args...)
		lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
		if got.code != int(cliio.Usage) || len(lines) < len(want) {
			t.Errorf("%q: code %d, %s", args, got.code, got.stderr)
			continue
		}
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "hint: ") })
		for i, says := range want {
			if !strings.HasPrefix(lines[i], "pfsd: ") || !strings.Contains(lines[i], says) {
				t.Errorf("%q: line %d is %q, want %q", args, i, lines[i], says)
			}
		}
		if len(lines) != len(want) {
			t.Errorf("%q: %s", args, got.stderr)
		}
	}
}

func TestServeByConfigFile(t *testing.T) {
	dir := t.TempDir()
	name := writeConfig(t, dir, `
# relative to this file
data: data
listen: 127.0.0.1:1     # the command line says otherwise
log-level: error
current: far
datacenters:
  near: {store: "mem:"}
  far:  {store: "mem:"}
`)
	mustRun(t, goodPassword, "user", "add", "carol", "--config", name, "--password-stdin")
	r := start(t, filepath.Join(dir, "data"), "--config", name)
	c, _ := r.login(t, "carol")
	for _, want := range []string{"/pfs/near/home/carol", "/pfs/far/home/carol"} {
		if !strings.Contains(r.said, "datacenter "+strings.Split(want, "/")[2]) {
			t.Errorf("the start does not tell of %s:\n%s", want, r.said)
		}
	}
	info, err := c.Service(t.Context())
	if err != nil || info.Current != "far" {
		t.Errorf("current datacenter %q, %v; want far", info.Current, err)
	}
}

func TestHangupReadsTheConfigurationAgain(t *testing.T) {
	dir := t.TempDir()
	name := writeConfig(t, dir, "data: data\nlog-level: error\ndatacenters:\n  dc: {store: 'mem:'}\n")
	r := start(t, filepath.Join(dir, "data"), "--config", name)
	for _, text := range []string{
		"data: data\nlog-level: wrong: YAML\n",
		"data: data\nlog-level: info\nmax-requests: 7\ndatacenters:\n  other: {store: 'mem:'}\n",
		"data: data\nlog-level: info\ndatacenters:\n  dc: {store: 'mem:'}\n",
	} {
		writeConfig(t, dir, text)
		r.hangup <- os.Interrupt
		r.hangup <- os.Interrupt // taken when the one before is done
	}
	_, log := r.stop()
	for _, want := range []string{"the old one stays in use", `options="datacenters max-requests"`, "configuration reloaded"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
}

// The configurations that the documents show can be read, on a machine that has Hadoop's.
func TestDocumentedConfigurations(t *testing.T) {
	shown, hadoop := 0, t.TempDir()
	site := "<configuration><property><name>fs.defaultFS</name><value>hdfs://nn1:8020</value></property></configuration>"
	if err := os.WriteFile(filepath.Join(hadoop, "core-site.xml"), []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, document := range []string{"README.md", "docs/pfsd.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", document))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "```yaml\n")[1:] {
			block, _, _ := strings.Cut(part, "```")
			if !strings.Contains(block, "datacenters:") {
				block = "datacenters:\n  dc:\n    store: hdfs://nn/\n    dir: /pfs\n" + block
			}
			block = strings.ReplaceAll(block, "/etc/hadoop/conf", hadoop)
			f, err := loadConfigFile(writeConfig(t, t.TempDir(), block))
			if err == nil {
				err = checkApart(f.datacenters)
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", document, err, block)
			}
			shown++
		}
	}
	if shown < 4 {
		t.Errorf("%d configurations are shown, want at least 4", shown)
	}
}

// The error about an invalid value names the option and the expected values.
func TestWrongValues(t *testing.T) {
	for text, says := range map[string]string{
		"max-connections: lots\n": `max-connections: "lots" is not a number such as 64`,
		"access-life: 5\n":        `access-life: "5" is not a time such as 30s`,
		"access-life: 2d\n":       `--access-life 48h0m0s: it must be 1s to 24h0m0s`,
		"no-tls: perhaps\n":       `no-tls: "perhaps" is not true or false`,
	} {
		got := run(t, "", "check", "--data", dataFor(t), "--config", writeConfig(t, t.TempDir(), text))
		if got.code != int(cliio.Usage) || !strings.Contains(got.stderr, says) {
			t.Errorf("%q: code %d, %q, want %q", text, got.code, got.stderr, says)
		}
	}
}

// TestDays as times, in the file and on the command line.
func TestDays(t *testing.T) {
	config := writeConfig(t, t.TempDir(), "access-life: 1d\n")
	mustRun(t, "", "check", "--data", dataFor(t), "--config", config, "--datacenter", "dc=mem:", "--timeout", "1w2d", "--listen", "127.0.0.1:0")
	got := run(t, "", "check", "--data", dataFor(t), "--access-life", "2x")
	if want := "--access-life 2x: no time: write it as 30s, 90m, 12h, 7d or 2w"; got.code != int(cliio.Usage) || !strings.Contains(got.stderr, want) {
		t.Errorf("code %d, %q, want %q", got.code, got.stderr, want)
	}
}
