package convert

import (
	"bytes"
	"encoding/binary"
	"os/exec"
	"strings"
	"testing"
)

// readPickles is the loop of the reader that users have: pickle.loads of each record. The records
// come as a length and the payload.
const readPickles = `
import struct, sys
try:
    import cPickle as pickle
except ImportError:
    import pickle
data = getattr(sys.stdin, "buffer", sys.stdin).read()
at = 0
out = []
while at < len(data):
    n, = struct.unpack("<I", data[at:at+4])
    v = pickle.loads(data[at+4:at+4+n])
    at += 4 + n
    out.append(%s)
getattr(sys.stdout, "buffer", sys.stdout).write("\n".join(out).encode("utf-8"))
`

// python3 and python2 show a value in the same way where both have the same.
const (
	repr3 = "repr(v)"
	repr2 = "repr(v).replace('L', '').decode('ascii')"
)

// python runs the program in an installed Python, or skips the test.
func python(t *testing.T, names []string, program string, stdin []byte) []string {
	t.Helper()
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil || exec.Command(path, "-c", "").Run() != nil {
			continue
		}
		cmd := exec.Command(path, "-c", program)
		cmd.Stdin = bytes.NewReader(stdin)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, stderr.String())
		}
		return strings.Split(string(out), "\n")
	}
	t.Skipf("none of %s runs here", strings.Join(names, ", "))
	return nil
}

func pickled(t *testing.T) (data []byte, names, want []string) {
	t.Helper()
	enc := newPickle(Limits{})
	for _, c := range samples {
		if c.python == "" {
			continue
		}
		c.walk(enc)
		payload := enc.Append(nil)
		if enc.Err() != nil {
			t.Fatalf("%s: %v", c.name, enc.Err())
		}
		data = append(binary.LittleEndian.AppendUint32(data, uint32(len(payload))), payload...)
		names, want = append(names, c.name), append(want, c.python)
	}
	return data, names, want
}

func TestPicklePython3(t *testing.T) {
	data, names, want := pickled(t)
	got := python(t, []string{"python3", "python"}, strings.Replace(readPickles, "%s", repr3, 1), data)
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: got %s, want %s", names[i], got[i], want[i])
		}
	}
}

func TestPicklePython2(t *testing.T) {
	data, names, want := pickled(t)
	got := python(t, []string{"python2.7", "python2"}, strings.Replace(readPickles, "%s", repr2, 1), data)
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i, w := range want {
		switch { // the same values as Python 2 writes them
		case strings.HasPrefix(w, "b'"):
			w = w[1:]
		case strings.HasPrefix(w, "'"):
			w = "u" + strings.Replace(w, "é", `\xe9`, 1)
		case names[i] == "nested":
			w = "{u'a': None, u'b': [1, {u'x': []}, 2]}"
		}
		if got[i] != w {
			t.Errorf("%s: got %s, want %s", names[i], got[i], w)
		}
	}
}

// The state of a tensor is the one that numpy writes. Numpy is not required: the program gives
// pickle stand-ins that print their arguments.
func TestPickleTensor(t *testing.T) {
	enc := newPickle(Limits{})
	enc.Tensor(Float32, []int64{2, 1}, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0})
	payload := enc.Append(nil)
	program := `
import sys, types
class dtype(object):
    def __init__(self, *args): self.args = args
    def __setstate__(self, state): self.state = state
class ndarray(object):
    def __setstate__(self, state): self.state = state
def _reconstruct(kind, shape, code):
    assert (kind, shape, code) == (ndarray, (0,), "b"), (kind, shape, code)
    return ndarray()
numpy = types.ModuleType("numpy")
numpy.dtype, numpy.ndarray = dtype, ndarray
core = types.ModuleType("numpy.core")
multiarray = types.ModuleType("numpy.core.multiarray")
multiarray._reconstruct = _reconstruct
sys.modules.update({"numpy": numpy, "numpy.core": core, "numpy.core.multiarray": multiarray})
import pickle
v = pickle.loads(getattr(sys.stdin, "buffer", sys.stdin).read())
version, shape, kind, fortran, data = v.state
sys.stdout.write("%r %r %r %r %r %r" % (version, shape, kind.args, kind.state, fortran, bytearray(data)))
`
	const want = `1 (2, 1) ('f4', 0, 1) (3, '<', None, None, None, -1, -1, 0) False bytearray(b'\x00\x00\x80?\x00\x00\x00\xc0')`
	for _, names := range [][]string{{"python3", "python"}, {"python2.7", "python2"}} {
		t.Run(names[0], func(t *testing.T) {
			if got := python(t, names, program, payload)[0]; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}
