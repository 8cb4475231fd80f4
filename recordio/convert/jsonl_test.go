package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

func TestJSONL(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"order", `{"z":1,"a":2,"m":{"y":1,"b":2}}`, `{"z":1,"a":2,"m":{"y":1,"b":2}}`},
		{"same key in another object", `{"a":{"a":1},"b":[{"a":2},{"a":3}]}`, `{"a":{"a":1},"b":[{"a":2},{"a":3}]}`},
		{"large integers", `[9007199254740993,18446744073709551615,-9223372036854775808,123456789012345678901234567890]`,
			`[9007199254740993,18446744073709551615,-9223372036854775808,123456789012345678901234567890]`},
		{"numbers", `[0,-0,1.50,1e5,1E-5,-0.0]`, `[0,-0,1.50,1e5,1E-5,-0.0]`},
		{"spaces", " \t{ \"a\" : [ 1 , true , false , null ] } \r", `{"a":[1,true,false,null]}`},
		{"empty", `{"":{},"b":[]}`, `{"":{},"b":[]}`},
		{"escapes", `"\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00"`, "\"\\\"\\\\/\\u0008\\u000c\\n\\r\\tAé€😀\""},
		{"scalar", `1`, `1`},
	} {
		got, err := asJSON(t, Options{}, "a.jsonl", c.data+"\n\n  \n")
		if err != nil || !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: got %q, %v\nwant %q", c.name, got, err, c.want)
		}
	}
}

func TestJSONLErrors(t *testing.T) {
	for data, want := range map[string]string{
		`{"a":1`:              `the line ends at column 7 instead of "," or "}"`,
		`{"a" 1}`:             `"1}" instead of ":" at column 6`,
		`{a:1}`:               `"a:1}" instead of a key at column 2`,
		`{"a":1,}`:            `"}" instead of a key at column 8`,
		`[1,]`:                `"]" instead of a value at column 4`,
		`[1 2]`:               `"2]" instead of "," or "]" at column 4`,
		`1 2`:                 `"2" instead of the end of the line at column 3`,
		`nul`:                 `"nul" instead of a value at column 1`,
		`01`:                  `"01" instead of a number without a leading zero at column 1`,
		`1.`:                  `"1." instead of a number at column 1`,
		`1e+`:                 `"1e+" instead of a number at column 1`,
		`-`:                   `"-" instead of a value at column 1`,
		`+1`:                  `"+1" instead of a value at column 1`,
		`NaN`:                 `NaN at column 1, which is Python, not JSON`,
		`{"a":-Infinity}`:     `-Infinity at column 6, which is Python, not JSON`,
		`Infinite`:            `"Infinite" instead of a value at column 1`,
		`"a`:                  `the line ends at column 3 instead of the end of a string`,
		`"\`:                  `the line ends at column 3 instead of the end of a string`,
		"\"a\tb\"":            `"\tb\"" instead of the rest of a string at column 3`,
		`"\x"`:                `"\\x\"" instead of an escape at column 2`,
		`"\u12"`:              `"\\u12\"" instead of four digits after \u at column 2`,
		`"\ud800"`:            `"\\ud800\"" instead of a whole pair of surrogates at column 2`,
		`"\udc00\ud800"`:      `"\\udc00\\ud800\"" instead of a whole pair of surrogates at column 2`,
		"\x00":                `"\x00" instead of a value at column 1`,
		"\"\xff\"":            `not UTF-8: byte 0xff at position 2 of "\"\xff\""; name its encoding, such as latin1; the payload raw takes any bytes`,
		"[[[[[[[[[1]]]]]]]]]": `values nest deeper than the limit of 8 at column 9`,
	} {
		opts := Options{Limits: Limits{Depth: 8}}
		_, err := asJSON(t, opts, "a.jsonl", "1\n"+data+"\n")
		if want = "a.jsonl, line 2, offset 2: " + want; err == nil || err.Error() != want {
			t.Errorf("%s: got  %v\nwant %s", data, err, want)
		}
	}
}

// Python writes numbers that JSON lacks.
func TestJSONLAllowNaN(t *testing.T) {
	const data = "[NaN,{\"a\":Infinity,\"b\": -Infinity },-1]"
	for _, c := range []struct{ name, data, encoding, want string }{
		{"a.jsonl", data, Shown.Name, `["NaN",{"a":"Infinity","b":"-Infinity"},-1]`},
		{"a.jsonl", data, "msgpack", "\x93\xcb\x7f\xf8\x00\x00\x00\x00\x00\x01\x82\xa1a\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00\xa1b\xcb\xff\xf0\x00\x00\x00\x00\x00\x00\xff"},
		{"a.jsonl", data, "json", "a.jsonl, line 1, offset 0: JSON has no number NaN: the encodings msgpack and pickle hold it"},
		{"a.jsonl", "Nan", "msgpack", `a.jsonl, line 1, offset 0: "Nan" instead of a value at column 1`},
		{"a.jsonl", "NaN1", "msgpack", `a.jsonl, line 1, offset 0: "1" instead of the end of the line at column 4`},
		{"a.csv", "a\nNaN\n", "msgpack", "a.csv: NaN and Infinity are accepted in jsonl, not in csv"},
	} {
		got, _, err := payloads(t, Options{Encoding: c.encoding, AllowNaN: true}, memorySource(c.name, []byte(c.data)))
		text := strings.Join(got, "")
		if err != nil {
			text = err.Error()
		}
		if text != c.want {
			t.Errorf("%s as %s: %q, want %q", c.data, c.encoding, text, c.want)
		}
	}
}

// An object that has a key twice is a bad record, however many it has.
func TestJSONLKeyTwice(t *testing.T) {
	const inner = `{"k1":0}`
	for _, n := range []int{1, 2, manyKeys, manyKeys + 1, manyKeys + 2, 500} {
		text := `{"k0":` + inner
		for i := 1; i < n; i++ {
			text += fmt.Sprintf(`,"k%d":%s`, i, inner)
		}
		if got, err := asJSON(t, Options{}, "a.jsonl", text+"}\n"); err != nil || len(got) != 1 {
			t.Errorf("%d keys: %v", n, err)
		}
		for _, again := range []int{0, n - 1} {
			want := fmt.Sprintf(`a.jsonl, line 1, offset 0: the key "k%d" occurs twice in its object, again at column %d`, again, len(text)+2)
			_, err := asJSON(t, Options{}, "a.jsonl", fmt.Sprintf("%s,\"\\u006b%d\":1}\n", text, again))
			if err == nil || err.Error() != want {
				t.Errorf("%d keys: got %v, want %s", n, err, want)
			}
		}
	}
}

// An integer that msgpack cannot encode is a bad record; its message names payloads that can.
func TestJSONLLargeInteger(t *testing.T) {
	_, _, err := payloads(t, Options{}, memorySource("a.jsonl", []byte("[18446744073709551616]\n")))
	const want = `a.jsonl, line 1, offset 0: the integer "18446744073709551616" does not fit 64 bits: the encodings json and pickle hold it`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A nest of brackets ends at the limit, not at the end of the stack.
func TestJSONLNest(t *testing.T) {
	for _, bracket := range []string{"[", `{"a":`} {
		_, err := asJSON(t, Options{}, "a.jsonl", strings.Repeat(bracket, 1<<20))
		if err == nil || !strings.Contains(err.Error(), "nest deeper than the limit of 64") {
			t.Errorf("%s: got %.100v", bracket, err)
		}
	}
}

// FuzzJSONL compares the parser with encoding/json, which must accept the same lines with the same
// meaning, and msgpack with a separate reader.
func FuzzJSONL(f *testing.F) {
	f.Add([]byte(`{"a":[1,-2.5e3,"x\u00e9\n",null,true],"b":{"c":{}}}`))
	f.Add([]byte(`"\ud83d\ude00"`))
	f.Add([]byte("[9007199254740993]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.ContainsAny(data, "\n") {
			checkRun(t, Options{Format: "jsonl"}, data)
			return
		}
		limits := Limits{Record: 1 << 20}.withDefaults()
		p := &jsonParser{depth: limits.Depth}
		p.block(data)
		enc := newJSON(limits)
		_, _, err := p.parse(enc)
		var want any
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		wantErr := d.Decode(&want)
		if wantErr == nil && !json.Valid(data) {
			wantErr = errors.New("more than one value")
		}
		if err != nil {
			if wantErr == nil && knownKind(err) && (bytes.Contains(data, []byte(`\u`)) || bytes.ContainsAny(data, "\ufffd[{") || !p.valid) {
				return // stricter about surrogates, UTF-8 and depth
			}
			if wantErr == nil {
				t.Fatalf("got %v for %q", err, data)
			}
			return
		}
		got := enc.Append(nil)
		if enc.Err() != nil {
			t.Fatal(enc.Err())
		}
		if wantErr != nil {
			if bytes.HasPrefix(bytes.TrimSpace(data), []byte("\xef\xbb\xbf")) {
				return
			}
			t.Fatalf("%q is %q, but %v", data, got, wantErr)
		}
		wantText, _ := json.Marshal(want)
		var again any
		d = json.NewDecoder(bytes.NewReader(got))
		d.UseNumber()
		if err := d.Decode(&again); err != nil {
			t.Fatalf("%q became %q: %v", data, got, err)
		}
		if gotText, _ := json.Marshal(again); !bytes.Equal(gotText, wantText) {
			t.Fatalf("%q became %q, want %q", data, gotText, wantText)
		}
		checkMsgpack(t, data)
	})
}

// checkMsgpack reads the msgpack of a line back by another library.
func checkMsgpack(t *testing.T, line []byte) {
	p := &jsonParser{depth: DefaultMaxDepth}
	p.block(line)
	enc := newMsgpack(Limits{})
	if _, _, err := p.parse(enc); err != nil || enc.Err() != nil {
		return
	}
	payload := enc.Append(nil)
	d := msgpack.NewDecoder(bytes.NewReader(payload))
	if err := d.Skip(); err != nil {
		t.Fatalf("the msgpack %x of %q: %v", payload, line, err)
	}
	if _, err := d.PeekCode(); err == nil {
		t.Fatalf("the msgpack %x of %q goes on", payload, line)
	}
}
