package convert

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"
)

// samples are records as calls, and the resulting payloads. An empty payload means an error.
var samples = []struct {
	name    string
	walk    func(Encoder)
	msgpack string // hexadecimal
	json    string
	python  string // repr of the result of pickle.loads in Python 3
}{
	{"nil", func(e Encoder) { e.Nil() }, "c0", "null", "None"},
	{"true", func(e Encoder) { e.Bool(true) }, "c3", "true", "True"},
	{"false", func(e Encoder) { e.Bool(false) }, "c2", "false", "False"},
	{"zero", func(e Encoder) { e.Int(0) }, "00", "0", "0"},
	{"int 127", func(e Encoder) { e.Int(127) }, "7f", "127", "127"},
	{"int 128", func(e Encoder) { e.Int(128) }, "cc80", "128", "128"},
	{"int 65535", func(e Encoder) { e.Int(65535) }, "cdffff", "65535", "65535"},
	{"int 65536", func(e Encoder) { e.Int(65536) }, "ce00010000", "65536", "65536"},
	{"int -1", func(e Encoder) { e.Int(-1) }, "ff", "-1", "-1"},
	{"int -33", func(e Encoder) { e.Int(-33) }, "d0df", "-33", "-33"},
	{"int -129", func(e Encoder) { e.Int(-129) }, "d1ff7f", "-129", "-129"},
	{"int -32769", func(e Encoder) { e.Int(-32769) }, "d2ffff7fff", "-32769", "-32769"},
	{"int min", func(e Encoder) { e.Int(math.MinInt64) }, "d38000000000000000", "-9223372036854775808", "-9223372036854775808"},
	{"int max", func(e Encoder) { e.Int(math.MaxInt64) }, "cf7fffffffffffffff", "9223372036854775807", "9223372036854775807"},
	{"uint max", func(e Encoder) { e.Uint(math.MaxUint64) }, "cfffffffffffffffff", "18446744073709551615", "18446744073709551615"},
	{"uint small", func(e Encoder) { e.Uint(5) }, "05", "5", "5"},
	{"float", func(e Encoder) { e.Float64(1.5) }, "cb3ff8000000000000", "1.5", "1.5"},
	{"float whole", func(e Encoder) { e.Float64(100) }, "cb4059000000000000", "100.0", "100.0"},
	{"float small", func(e Encoder) { e.Float64(1e-9) }, "cb3e112e0be826d695", "1e-09", "1e-09"},
	{"float32", func(e Encoder) { e.Float32(0.1) }, "ca3dcccccd", "0.1", "0.10000000149011612"},
	{"infinite", func(e Encoder) { e.Float64(math.Inf(-1)) }, "cbfff0000000000000", "", "-inf"},
	{"number 2^53+1", func(e Encoder) { e.Number([]byte("9007199254740993")) }, "cf0020000000000001", "9007199254740993", "9007199254740993"},
	{"number -2^63", func(e Encoder) { e.Number([]byte("-9223372036854775808")) }, "d38000000000000000", "-9223372036854775808", "-9223372036854775808"},
	{"number 2^64-1", func(e Encoder) { e.Number([]byte("18446744073709551615")) }, "cfffffffffffffffff", "18446744073709551615", "18446744073709551615"},
	{"number 2^64", func(e Encoder) { e.Number([]byte("18446744073709551616")) }, "", "18446744073709551616", "18446744073709551616"},
	{"number -2^63-1", func(e Encoder) { e.Number([]byte("-9223372036854775809")) }, "", "-9223372036854775809", "-9223372036854775809"},
	{"number 1e2", func(e Encoder) { e.Number([]byte("1e2")) }, "cb4059000000000000", "1e2", "100.0"},
	{"number 1e999", func(e Encoder) { e.Number([]byte("1e999")) }, "", "1e999", ""},
	{"string", func(e Encoder) { e.String([]byte("a\"\\\n\x01é")) }, "a7" + hex.EncodeToString([]byte("a\"\\\n\x01é")), `"a\"\\\n\u0001é"`, `'a"\\\n\x01é'`},
	{"string of 32", func(e Encoder) { e.String(bytes.Repeat([]byte("x"), 32)) }, "d920" + strings.Repeat("78", 32), `"` + strings.Repeat("x", 32) + `"`, "'" + strings.Repeat("x", 32) + "'"},
	{"bytes", func(e Encoder) { e.Bytes([]byte{0, 0x7f, 0x80, 0xff}) }, "c404007f80ff", `"AH+A/w=="`, `b'\x00\x7f\x80\xff'`},
	{"empty bytes", func(e Encoder) { e.Bytes(nil) }, "c400", `""`, "b''"},
	{"empty map", func(e Encoder) { e.Map(-1); e.End() }, "80", "{}", "{}"},
	{"empty array", func(e Encoder) { e.Array(0); e.End() }, "90", "[]", "[]"},
	{"nested", func(e Encoder) {
		e.Map(-1)
		e.Key("b")
		e.Array(-1)
		e.Int(1)
		e.Map(1)
		e.Key("x")
		e.Array(0)
		e.End()
		e.End()
		e.Int(2)
		e.End()
		e.Key("a")
		e.Nil()
		e.End()
	}, "82a162930181a1789002a161c0", `{"b":[1,{"x":[]},2],"a":null}`, "{'b': [1, {'x': []}, 2], 'a': None}"},
	{"array of 16", func(e Encoder) {
		e.Array(-1)
		for range 16 {
			e.Int(1)
		}
		e.End()
	}, "dc0010" + strings.Repeat("01", 16), "[" + strings.Repeat("1,", 15) + "1]", "[" + strings.Repeat("1, ", 15) + "1]"},
	{"tensor", func(e Encoder) { e.Tensor(Int16, []int64{2, 2}, []byte{1, 0, 2, 0, 3, 0, 0xff, 0xff}) },
		"85c4026e64c3c40474797065a33c6932c4046b696e64c400c40573686170659202" + "02c40464617461c40801000200" + "0300ffff", "[[1,2],[3,-1]]", ""},
	{"tensor without dimensions", func(e Encoder) { e.Tensor(Float16, nil, []byte{0, 0x3e}) },
		"85c4026e64c3c40474797065a33c6632c4046b696e64c400c405736861706590c40464617461c402003e", "1.5", ""},
	{"empty tensor", func(e Encoder) { e.Tensor(Float32, []int64{3, 0}, nil) },
		"85c4026e64c3c40474797065a33c6634c4046b696e64c400c40573686170659203" + "00c40464617461c400", "[[],[],[]]", ""},
	{"complex", func(e Encoder) { e.Tensor(Complex64, []int64{0}, nil) },
		"85c4026e64c3c40474797065a33c6338c4046b696e64c400c40573686170659100c40464617461c400", "", ""},
}

func TestEncoders(t *testing.T) {
	for _, c := range samples {
		for _, e := range []struct {
			name string
			enc  Encoder
			want string
		}{{"msgpack", newMsgpack(Limits{}), c.msgpack}, {"json", newJSON(Limits{}), c.json}} {
			c.walk(e.enc)
			got := string(e.enc.Append(nil))
			if e.name == "msgpack" {
				got = hex.EncodeToString([]byte(got))
			}
			if got != e.want {
				t.Errorf("%s as %s: got %q, want %q", c.name, e.name, got, e.want)
			}
			if (e.enc.Err() != nil) != (e.want == "") {
				t.Errorf("%s as %s: error %v", c.name, e.name, e.enc.Err())
			}
		}
	}
}

// An encoder refuses calls that are out of order, keeps the first error, and works again after
// Reset.
func TestEncoderOrder(t *testing.T) {
	wrong := map[string]func(Encoder){
		"nothing":            func(Encoder) {},
		"two values":         func(e Encoder) { e.Nil(); e.Nil() },
		"open map":           func(e Encoder) { e.Map(-1) },
		"value without key":  func(e Encoder) { e.Map(-1); e.Nil(); e.End() },
		"key without value":  func(e Encoder) { e.Map(-1); e.Key("a"); e.End() },
		"two keys":           func(e Encoder) { e.Map(-1); e.Key("a"); e.Key("b") },
		"key in array":       func(e Encoder) { e.Array(-1); e.Key("a") },
		"key alone":          func(e Encoder) { e.Key("a") },
		"end alone":          func(e Encoder) { e.End() },
		"too few":            func(e Encoder) { e.Array(2); e.Nil(); e.End() },
		"too many":           func(e Encoder) { e.Array(0); e.Nil(); e.End() },
		"shape and data":     func(e Encoder) { e.Tensor(Int8, []int64{2}, []byte{1}) },
		"negative dimension": func(e Encoder) { e.Tensor(Int8, []int64{-1, -1}, []byte{1}) },
		"huge dimensions":    func(e Encoder) { e.Tensor(Int8, []int64{1 << 40, 1 << 40}, nil) },
		"no type":            func(e Encoder) { e.Tensor(0, nil, nil) },
	}
	for _, encoding := range Encodings {
		enc := encoding.New(Limits{})
		for name, walk := range wrong {
			walk(enc)
			if got := enc.Append([]byte("before")); string(got) != "before" {
				t.Errorf("%s: %s: Append gave %q", encoding.Name, name, got)
			}
			if err := enc.Err(); err == nil {
				t.Errorf("%s: %s: no error", encoding.Name, name)
			}
			enc.Reset()
			enc.Bytes([]byte("x"))
			if got := enc.Append(nil); enc.Err() != nil || len(got) == 0 {
				t.Errorf("%s: after %s and Reset: %q, %v", encoding.Name, name, got, enc.Err())
			}
		}
	}
}

func TestEncoderLimits(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 1<<10)
	over := map[string]func(Encoder){
		"depth": func(e Encoder) {
			for range 9 {
				e.Array(-1)
			}
		},
		"bytes":  func(e Encoder) { e.Bytes(large) },
		"string": func(e Encoder) { e.String(large) },
		"tensor": func(e Encoder) { e.Tensor(Uint8, []int64{1 << 10}, large) },
	}
	for _, encoding := range Encodings {
		for name, walk := range over {
			enc := encoding.New(Limits{Record: 1000, Depth: 8})
			walk(enc)
			if !errors.Is(enc.Err(), ErrLimit) {
				t.Errorf("%s: %s: error %v, want ErrLimit", encoding.Name, name, enc.Err())
			}
		}
	}
}

// A payload of many small values stops growing soon after the limit.
func TestEncoderGrowth(t *testing.T) {
	for _, enc := range []Encoder{newMsgpack(Limits{Record: 1000}), newPickle(Limits{Record: 1000}), newJSON(Limits{Record: 1000})} {
		enc.Array(-1)
		for range 10000 {
			enc.Float64(0.1)
		}
		if !errors.Is(enc.Err(), ErrLimit) {
			t.Errorf("%T: error %v, want ErrLimit", enc, enc.Err())
		}
		if got := len(enc.Append(nil)); got != 0 {
			t.Errorf("%T: %d bytes", enc, got)
		}
	}
}

func TestRaw(t *testing.T) {
	for _, c := range []struct {
		name    string
		walk    func(Encoder)
		want    string
		ok      bool
		partial bool
	}{
		{"bytes", func(e Encoder) { e.Bytes([]byte("x\x00")) }, "x\x00", true, false},
		{"missing", func(e Encoder) { e.Array(2); e.Nil(); e.Bytes([]byte("x")); e.End() }, "x", true, false},
		{"string", func(e Encoder) { e.String([]byte("x")) }, "x", true, false},
		{"image", func(e Encoder) {
			e.Map(-1)
			e.Key("name")
			e.String([]byte("n"))
			e.Key("data")
			e.Bytes([]byte("pixels"))
			e.Key("class")
			e.Int(3)
			e.End()
		}, "pixels", true, true},
		{"text and number", func(e Encoder) { e.Array(2); e.String([]byte("x")); e.Int(1); e.End() }, "x", true, true},
		{"tensor", func(e Encoder) { e.Tensor(Uint8, []int64{2}, []byte("ab")) }, "ab", true, false},
		{"two", func(e Encoder) { e.Array(2); e.Bytes([]byte("x")); e.Bytes([]byte("y")); e.End() }, "", false, true},
		{"two texts", func(e Encoder) { e.Array(2); e.String([]byte("x")); e.String([]byte("y")); e.End() }, "", false, true},
		{"number", func(e Encoder) { e.Int(1) }, "", false, false},
	} {
		enc := newRaw(Limits{}).(*rawEncoder)
		for range 2 { // the second record starts clean
			c.walk(enc)
			got := string(enc.Append(nil))
			if got != c.want || (enc.Err() == nil) != c.ok || enc.partial != c.partial {
				t.Errorf("%s: got %q, %v, partial %v", c.name, got, enc.Err(), enc.partial)
			}
			enc.Reset()
		}
	}
}

func TestHalfFloat(t *testing.T) {
	for bits, want := range map[uint16]float32{
		0x0000: 0, 0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x0001: 0x1p-24, 0x0400: 0x1p-14,
		0x3555: 0.33325195, 0x7c00: float32(math.Inf(1)), 0xfc00: float32(math.Inf(-1)),
	} {
		if got := halfFloat(bits); got != want {
			t.Errorf("%#x: got %v, want %v", bits, got, want)
		}
	}
	if got := halfFloat(0x7e00); got == got {
		t.Errorf("0x7e00: got %v, want not a number", got)
	}
}

// Shown formats numbers that JSON lacks, also inside arrays of numbers.
func TestShown(t *testing.T) {
	bits := binary.LittleEndian.AppendUint64
	nan, inf := math.Float64bits(math.NaN()), math.Float64bits(math.Inf(-1))
	enc := Shown.New(Limits{})
	enc.Array(3)
	enc.Float32(float32(math.Inf(1)))
	enc.Tensor(Float64, []int64{2}, bits(bits(nil, nan), inf))
	enc.Tensor(Complex128, []int64{1}, bits(bits(nil, math.Float64bits(1)), nan))
	enc.End()
	const want = `["Infinity",["NaN","-Infinity"],[[1.0,"NaN"]]]`
	if got := string(enc.Append(nil)); got != want || enc.Err() != nil {
		t.Errorf("%s (%v), want %s", got, enc.Err(), want)
	}
}
