package python_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestWheel builds the wheel and the sdist, installs each, and reads a dataset with it. fsspec finds pfs:// by the entry
// point, and type checkers the types.
func TestWheel(t *testing.T) {
	testbed.Long(t)
	open(t, ".")
	interpreter, dir := venv(t, "test"), t.TempDir()
	if out, err := exec.Command("./build.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const program = `
import fsspec, importlib.resources, recordio
assert recordio.__file__.startswith(%q), recordio.__file__
recordio.convert("data", range(10), 4, "t", payload="msgpack")
number: int = recordio.Dataset("data")[7]
assert number == 7
assert (importlib.resources.files(recordio) / "py.typed").is_file()
assert fsspec.get_filesystem_class("pfs").__name__ == "PfsFileSystem"
`
	for _, pattern := range []string{"paddle_recordio-*.whl", "paddle_recordio-*.tar.gz"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		target, here := filepath.Join(t.TempDir(), "site"), t.TempDir()
		run := func(args ...string) {
			t.Helper()
			cmd := exec.Command(interpreter, args...)
			cmd.Dir, cmd.Env = here, append(os.Environ(), "PYTHONPATH="+target, "PYTHONDONTWRITEBYTECODE=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %v\n%s", filepath.Base(found[0]), args[0], err, out)
			}
		}
		run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--target", target, found[0])
		if err := os.WriteFile(filepath.Join(here, "program.py"), fmt.Appendf(nil, program, target), 0o600); err != nil {
			t.Fatal(err)
		}
		run("program.py")
	}
}
