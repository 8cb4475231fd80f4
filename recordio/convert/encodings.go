package convert

// Encoding is one form of payload that can be written.
type Encoding struct {
	// Name is the name users know it by, such as "msgpack".
	Name string
	// Doc is one line for help texts.
	Doc string
	// New returns an encoder that holds to l.
	New func(l Limits) Encoder
}

// Encodings lists every form of payload that can be written; the first is what is
// written if nothing else is asked for.
var Encodings = []Encoding{
	{"msgpack", "MessagePack; arrays of numbers as the package msgpack-numpy writes them", newMsgpack},
	{"pickle", "Python pickle, protocol 2, for Python 2 and 3; arrays of numbers as numpy.ndarray", newPickle},
	{"json", "JSON; bytes as base64, arrays of numbers nested", newJSON},
	{rawName, "the bytes or text of a sample as they stand, without labels and names; of formats of lines, the line", newRaw},
}

// Shown is JSON to be looked at, which shows whatever records hold: the numbers that
// JSON does not know are the texts "NaN", "Infinity" and "-Infinity", and a complex
// number is the array of its real and its imaginary part. It is none of Encodings,
// since what reads such payloads would find texts among numbers.
var Shown = Encoding{"shown", "JSON to be looked at", newShown}

const rawName = "raw"

// findEncoding returns the encoding of a name; the first if name is "".
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
