package python_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// TestProgramsOfMessages writes a file in each format that only Python reads, runs the program that convert prints for
// it, and converts the result.
func TestProgramsOfMessages(t *testing.T) {
	testbed.Long(t)
	open(t, ".")
	interpreter, dir := venv(t, "torch"), t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	run := func(program string) {
		t.Helper()
		cmd := exec.Command(interpreter, "-W", "ignore", "-c", program)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PYTHONPATH="+here, "PYTHONDONTWRITEBYTECODE=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
	}
	fsys, err := localfs.New(dir, localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	convert := func(name, out string) error {
		in := recordfile.File{Title: name, End: transfer.End{FS: fsys, Path: pfs.Path("/" + name)}}
		_, err := dataset.Convert(context.Background(), dataset.Options{
			Inputs: []dataset.Input{{File: in}}, Payload: "msgpack", Dir: transfer.End{FS: fsys, Path: pfs.Path("/" + out)}, Name: "t",
		})
		return err
	}
	const columns = "import numpy as np; c = {'a': np.arange(12, dtype='f4').reshape(4, 3), 'b': np.arange(4)}; "
	const flat = "import numpy as np; c = {'a': np.arange(4, dtype='f4'), 'b': np.arange(4)}; "
	for _, c := range []struct{ file, made, columns, write string }{
		{"x.h5", "x.npz", columns, "import h5py; f = h5py.File('x.h5', 'w'); [f.create_dataset(k, data=v) for k, v in c.items()]; f.close()"},
		{"x.pt", "x.npz", columns, "import torch; torch.save({k: torch.from_numpy(v) for k, v in c.items()}, 'x.pt')"},
		{"x.safetensors", "x.npz", columns, "from safetensors.numpy import save_file; save_file(c, 'x.safetensors')"},
		{"x.feather", "y.feather", flat, "import pandas, pyarrow.feather as f; f.write_feather(pandas.DataFrame(c), 'x.feather', version=1)"},
	} {
		t.Run(filepath.Ext(c.file), func(t *testing.T) {
			run(c.columns + c.write)
			err := convert(c.file, "refused")
			if err == nil {
				t.Fatal("it was converted without Python")
			}
			_, program, ok := strings.Cut(err.Error(), "convert it with Python: ")
			if !ok {
				t.Fatalf("the message has no program: %v", err)
			}
			run(program)
			out := "data" + filepath.Ext(c.file)
			if err := convert(c.made, out); err != nil {
				t.Fatal(err)
			}
			run(c.columns + "import recordio; d = recordio.Dataset('" + out + "'); " +
				"assert len(d) == 4 and all(np.array_equal(d[i][k], c[k][i]) for i in range(4) for k in c), d[:]")
			if err := os.Remove(filepath.Join(dir, c.made)); err != nil {
				t.Fatal(err)
			}
		})
	}
}
