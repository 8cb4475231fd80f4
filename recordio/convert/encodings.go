package convert

// Encoding is a form of payload.
type Encoding struct {
	// Name identifies it to users, such as "msgpack".
	Name string
	// Doc is one line for help texts.
	Doc string
	// New returns an encoder with the limits l.
	New func(l Limits) Encoder
}

// Encodings lists every payload encoding; the first is the default.
var Encodings = []Encoding{
	{"msgpack", "MessagePack; arrays of numbers as the package msgpack-numpy writes them", newMsgpack},
	{"pickle", "Python pickle, protocol 2, for Python 2 and 3; arrays of numbers as numpy.ndarray", newPickle},
	{"json", "JSON; bytes as base64, arrays of numbers nested", newJSON},
	{rawName, "the bytes or text of a sample, unchanged, without labels and names; of formats of lines, the line", newRaw},
}

// Shown is JSON for display. It can show every record: numbers that JSON lacks are the texts "NaN",
// "Infinity" and "-Infinity", and a complex number is the array of its real and imaginary part. It
// is not in Encodings, because readers would find texts among numbers.
var Shown = Encoding{"shown", "JSON for display", newShown}

const rawName = "raw"

// findEncoding returns the encoding with the given name; the first if name is "".
func findEncoding(name string) (Encoding, error) {
	if name == "" {
		return Encodings[0], nil
	}
	if name == Shown.Name {
		return Shown, nil
	}
	names := make([]string, len(Encodings))
	for i, e := range Encodings {
		if e.Name == name {
			return e, nil
		}
		names[i] = e.Name
	}
	return Encoding{}, unknown("encoding", name, names)
}
