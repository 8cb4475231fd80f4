package python_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/recordio"
)

// venv returns a Python with the packages of requirements-NAME.txt. Without the package registry it
// skips the test, but not where everything must have been tested.
func venv(t *testing.T, name string) string {
	t.Helper()
	cmd := exec.Command("./venv.sh", name)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		text := "the packages of python/requirements-" + name + ".txt cannot be installed: " + err.Error() + "\n" + stderr.String()
		if os.Getenv("CI") == "true" {
			t.Fatal(text)
		}
		t.Skip(text)
	}
	return strings.TrimSpace(string(out))
}

// python runs a program in this directory.
func python(t *testing.T, env []string, python string, args ...string) {
	t.Helper()
	cmd := exec.Command(python, args...)
	cmd.Env = append(os.Environ(), append(env, "PYTHONDONTWRITEBYTECODE=1")...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	if lines := strings.Split(strings.TrimSpace(string(out)), "\n"); len(lines) > 2 {
		t.Log(strings.Join(lines[len(lines)-3:], " "))
	}
}

// TestLoader runs the tests of the parts that need Python 3.10 and the extras, on files that the Go
// writer made just before, and some of them once more without the extension.
func TestLoader(t *testing.T) {
	open(t, ".", "../recordio/testdata/golden", "../docs")
	dir := t.TempDir()
	write(t, dir)
	encode(t, dir)
	writeOrders(t, dir, 3000)
	indexes(t, dir)
	writeDamage(t, dir)
	env := []string{"RECORDIO_WRITTEN=" + dir}
	python(t, env, venv(t, "test"), "-m", "unittest", "discover", "-s", "loader_tests", "-t", ".")
	python(t, env, venv(t, "test"), "-c", `import sys, unittest
sys.modules["recordio.native"] = None  # as if it had not been built
unittest.main(None, argv=["", "loader_tests.test_dataset", "loader_tests.test_stream", "loader_tests.test_hostile"])`)
}

// TestSanitized runs the tests of the extension with the checks of the compiler for memory and arithmetic, and many
// more random cases, with each of its two ways to compute checksums.
func TestSanitized(t *testing.T) {
	testbed.Long(t)
	open(t, ".")
	interpreter := venv(t, "test")
	for name, flags := range map[string][]string{"usual": nil, "portable": {"-DPORTABLE"}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
				t.Fatal(err)
			}
			include, err := exec.Command(interpreter, "-c", `print(__import__("sysconfig").get_path("include"))`).Output()
			if err != nil {
				t.Fatal(err)
			}
			args := append(flags, "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-shared", "-fPIC",
				"-DPy_LIMITED_API=0x030A0000", "-I"+strings.TrimSpace(string(include)), "recordio/native.c", "-o", "recordio/native.abi3.so")
			compile := exec.Command("cc", args...)
			compile.Dir = dir
			if out, err := compile.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			library, err := exec.Command("cc", "-print-file-name=libasan.so").Output()
			if err != nil {
				t.Fatal(err)
			}
			// The memory that Python itself keeps until it ends is no leak of the extension.
			env := []string{
				"LD_PRELOAD=" + strings.TrimSpace(string(library)), "ASAN_OPTIONS=detect_leaks=0", "PYTHONMALLOC=malloc",
				"RECORDIO_CASES=10000", "PYTHONPATH=" + dir,
			}
			python(t, env, interpreter, "-P", "-m", "unittest", "loader_tests.test_native.Chunks", "loader_tests.test_native.MessagePack")
		})
	}
}

// TestFrameworks runs the examples of docs/python.md that need large packages.
func TestFrameworks(t *testing.T) {
	testbed.Long(t)
	open(t, ".", "../docs")
	for list, framework := range map[string]string{"frameworks": "PaddlePaddle", "torch": "PyTorch", "huggingface": "Hugging Face"} {
		t.Run(framework, func(t *testing.T) {
			python(t, []string{"RECORDIO_FRAMEWORK=" + framework}, venv(t, list), "-m", "unittest", "loader_tests.test_frameworks.SlowFrameworks")
		})
	}
}

// TestServedFrameworks runs the examples of docs/python.md that read from a service.
func TestServedFrameworks(t *testing.T) {
	testbed.Long(t)
	open(t, ".", "../docs")
	_, config := newService(t)
	for framework, list := range map[string]string{
		"PaddlePaddle": "frameworks", "PyTorch": "torch", "Hugging Face": "huggingface", "Dask": "huggingface", "MosaicML Streaming": "bench",
	} {
		t.Run(framework, func(t *testing.T) {
			env := []string{"PADDLE_CONFIG=" + config, "RECORDIO_FRAMEWORK=" + framework + ", from a service"}
			python(t, env, venv(t, list), "-m", "unittest", "loader_tests.test_frameworks.ServedFrameworks")
		})
	}
}

// TestLint checks types and style.
func TestLint(t *testing.T) {
	open(t, ".")
	python(t, nil, venv(t, "test"), "-m", "ruff", "check", "--no-cache", ".")
	python(t, nil, venv(t, "test"), "-m", "mypy", "--cache-dir", t.TempDir())
}

// indexes writes every set once more, with zstd, and the index of each file FILE in dir as FILE.goidx.
func indexes(t *testing.T, dir string) {
	t.Helper()
	all := variants()
	all["zstd"] = recordio.WriterOptions{Compressor: recordio.Zstd, ChunkBytes: 100_000}
	for name, records := range sets() {
		writeFile(t, filepath.Join(dir, name+".zstd"), all["zstd"], records)
		for variant := range all {
			path := filepath.Join(dir, name+"."+variant)
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			x, err := recordio.BuildIndex(f, recordio.ScanOptions{})
			f.Close()
			if err != nil {
				t.Fatal(err)
			}
			out, err := os.Create(path + ".goidx")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(recordio.WriteIndex(out, x), out.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// damage is a bit of a file that is flipped, and how much of the file is left.
type damage struct {
	File    string
	At      int
	Mask    byte
	Size    int
	Records int  // that a Scanner returns
	Failed  bool // whether it then returns an error
	Rest    map[string]rest
}

// rest is what a Scanner makes of damage that its policy tolerates.
type rest struct {
	Digest string // of the records
	Loss   recordio.Loss
}

// writeDamage writes random damage, and what a Scanner makes of it.
func writeDamage(t *testing.T, dir string) {
	t.Helper()
	r := rand.New(rand.NewPCG(17, 2))
	f, err := os.Create(filepath.Join(dir, "damaged.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := json.NewEncoder(f)
	for _, variant := range []string{"none-chunks", "snappy-chunks", "snappy-index", "gzip", "zstd"} {
		whole, err := os.ReadFile(filepath.Join(dir, "small."+variant))
		if err != nil {
			t.Fatal(err)
		}
		const firstChunk = 20 // a damaged first header may look like one of another dialect
		for range 20 {
			c := damage{File: "small." + variant, At: firstChunk + r.IntN(len(whole)-firstChunk), Mask: 1 << r.IntN(8), Size: len(whole)}
			if r.IntN(3) == 0 {
				c.Mask, c.Size = 0, r.IntN(len(whole))
			}
			data := slices.Clone(whole)
			data[c.At] ^= c.Mask
			s := recordio.NewScanner(bytes.NewReader(data[:c.Size]), recordio.ScanOptions{})
			for s.Scan() {
				c.Records++
			}
			c.Failed = s.Err() != nil
			c.Rest = map[string]rest{}
			for _, p := range []recordio.Policy{recordio.Skip, recordio.Salvage} {
				s := recordio.NewScanner(bytes.NewReader(data[:c.Size]), recordio.ScanOptions{Policy: p})
				var records [][]byte
				for s.Scan() {
					records = append(records, slices.Clone(s.Bytes()))
				}
				if err := errors.Join(s.Err(), s.Close()); err != nil {
					t.Fatal(err)
				}
				c.Rest[p.String()] = rest{digest(records), s.Loss()}
			}
			if err := errors.Join(s.Close(), out.Encode(c)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
