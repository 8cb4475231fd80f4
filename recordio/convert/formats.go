package convert

// Format is a foreign format that can be read.
type Format struct {
	// Name identifies it to users, such as "csv".
	Name string
	// Doc is one line for help texts: the content of a record.
	Doc string
	// Extensions are the file name extensions of this format, in lower case, with their dot and
	// without that of a compression.
	Extensions []string
	// Names are file names, in the same form, that imply this format.
	Names []string
	// Sniff reports whether head can only be this format. head is the start of the decompressed
	// content: SniffLen bytes, fewer only if the input is shorter. Sniff is nil for formats without
	// a signature.
	Sniff func(head []byte) bool

	// open starts reading an input. Run closes the input.
	open func(in Input, opts Options) (Decoder, error)
	// lines replaces open for formats of lines, which are cut into blocks and parsed in parallel.
	lines func(opts Options) lineFormat
}

// SniffLen is the number of bytes that format detection examines.
const SniffLen = 4096

// Formats lists every format. Sniff tries them in this order.
var Formats = []Format{
	csvFormat,
	tsvFormat,
	jsonlFormat,
	libsvmFormat,
	textFormat,
	imagesFormat,
	npyFormat,
	npzFormat,
	mnistFormat,
	cifar10Format,
	cifar100Format,
	pickleFormat,
	tfrecordFormat,
	tfrecordRawFormat,
	webdatasetFormat,
	parquetFormat,
	arrowFormat,
	avroFormat,
}
