package fuse

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// journal records the state for a replacement of this server: the nodes, the open files, and the executed changes. A record
// is written before the kernel gets the answer, so the journal covers everything that the kernel knows. It survives the
// process but not the machine. A nil journal records nothing.
//
// It is in one of two files: a head, and batches of records. When the file is twice as long as after the last rewrite, the
// server writes the current state to the other file.
type journal struct {
	logger *slog.Logger
	broken atomic.Bool // a write failed

	mu       sync.Mutex        // guards the following
	batch    []byte            // not written yet, after space for its head
	last     uint64            // number of the newest record
	inFlight map[uint64][]byte // changes that the kernel may ask for again, and their answers, nil before there is one
	unsure   map[uint64]bool   // changes that another server has begun

	writing sync.Mutex // guards the following; taken before mu
	files   []*os.File
	current int // index of the file in use
	age     uint64
	size    int64         // of the file in use
	limit   int64         // size at which it is rewritten
	written atomic.Uint64 // number of the newest record in the file
}

// The kinds of records.
const (
	recNode = iota + 1
	recName
	recRef
	recForget
	recUnname
	recRename
	recDetach
	recLinked
	recVersion
	recBacking
	recOpen
	recClose
	recIntent
	recAnswer
	recDelivered
	recCounters
)

// shapes has the numbers of integers and of strings in a record of each kind.
var shapes = [...]struct{ ints, strings int }{
	recNode:      {7, 2}, // number, parent, inode, type, 1 if the inode is an ID, references, version; name, target
	recName:      {2, 1}, // node, parent; name
	recRef:       {1, 0}, // node
	recForget:    {2, 0}, // node, references
	recUnname:    {1, 1}, // parent; name
	recRename:    {2, 2}, // old parent, new parent; old name, new name
	recDetach:    {1, 0}, // node
	recLinked:    {1, 0}, // node
	recVersion:   {2, 0}, // node, version
	recBacking:   {2, 0}, // node, number, 0 for none
	recOpen:      {6, 2}, // number, node, kind; handle: flags, Info.ID; file: 1 if fixed, version; both: 1 if backed, and hasTail; ID and path of a handle
	recClose:     {1, 0}, // number
	recIntent:    {1, 0}, // number of the request
	recAnswer:    {1, 1}, // number of the request; answer
	recDelivered: {1, 0}, // number of the request
	recCounters:  {2, 0}, // last node, last open file
}

// JournalFormat is the format of the journal that a server leaves to its replacement. Only a server with the same format can
// take over. A change of shapes, or of their meaning, needs a new format.
const JournalFormat = 0

const (
	journalMagic = 0x7066736a
	journalHead  = 16 // magic and format, age
	batchHead    = 8  // length, checksum
	leastRewrite = 4 << 20
)

var errJournal = errors.New("the journal of the mount is damaged")

// note adds a record.
func (j *journal) note(kind byte, ints []uint64, strings ...string) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.noteLocked(kind, ints, strings...)
}

func (j *journal) noteLocked(kind byte, ints []uint64, strings ...string) {
	if len(j.batch) == 0 {
		j.batch = append(j.batch, make([]byte, batchHead)...)
	}
	j.batch = appendRecord(j.batch, kind, ints, strings...)
	j.last++
}

func appendRecord(b []byte, kind byte, ints []uint64, strings ...string) []byte {
	if shape := shapes[kind]; len(ints) != shape.ints || len(strings) != shape.strings {
		panic(fmt.Sprintf("record %d with %d integers and %d strings", kind, len(ints), len(strings)))
	}
	b = append(b, kind)
	for _, i := range ints {
		b = binary.AppendUvarint(b, i)
	}
	for _, s := range strings {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// flush returns when all records so far are in the file.
func (j *journal) flush() {
	if j == nil {
		return
	}
	j.mu.Lock()
	last := j.last
	j.mu.Unlock()
	if j.written.Load() >= last {
		return
	}
	j.writing.Lock()
	defer j.writing.Unlock()
	j.flushLocked()
}

func (j *journal) flushLocked() {
	j.mu.Lock()
	batch, last := j.batch, j.last
	j.batch = nil
	j.mu.Unlock()
	if len(batch) > 0 && !j.broken.Load() {
		sealBatch(batch)
		n, err := j.files[j.current].WriteAt(batch, j.size)
		j.size += int64(n)
		if err != nil {
			j.fail(err)
		}
	}
	j.written.Store(last)
	j.mu.Lock()
	if j.batch == nil && cap(batch) <= 64<<10 {
		j.batch = batch[:0]
	}
	j.mu.Unlock()
}

func sealBatch(batch []byte) {
	binary.LittleEndian.PutUint32(batch, uint32(len(batch)-batchHead))
	binary.LittleEndian.PutUint32(batch[4:], crc32.ChecksumIEEE(batch[batchHead:]))
}

// fail gives up: an incomplete journal must not be used.
func (j *journal) fail(err error) {
	j.broken.Store(true)
	for _, f := range j.files {
		_ = f.Truncate(0)
	}
	j.logger.Error("the state of the mount cannot be recorded: if its server dies, the mount ends", "error", err)
}

// full reports whether the file has reached the size at which it is rewritten.
func (j *journal) full() bool {
	if j == nil || j.broken.Load() {
		return false
	}
	j.writing.Lock()
	defer j.writing.Unlock()
	return j.size > j.limit
}

// rewrite replaces the content by the records that current emits. The caller holds all locks under which records are
// made, except those of j.
func (j *journal) rewrite(current func(emit func(kind byte, ints []uint64, strings ...string))) {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.flushLocked()
	if j.broken.Load() {
		return
	}
	f := j.files[1-j.current]
	size, batch := int64(journalHead), make([]byte, batchHead, 128<<10)
	err := f.Truncate(0)
	write := func() {
		if err == nil && len(batch) > batchHead {
			sealBatch(batch)
			_, err = f.WriteAt(batch, size)
			size += int64(len(batch))
		}
		batch = batch[:batchHead]
	}
	emit := func(kind byte, ints []uint64, strings ...string) {
		if batch = appendRecord(batch, kind, ints, strings...); len(batch) > 64<<10 {
			write()
		}
	}
	current(emit)
	j.mu.Lock()
	for number, answer := range j.inFlight {
		if answer == nil {
			emit(recIntent, []uint64{number})
		} else {
			emit(recAnswer, []uint64{number}, string(answer))
		}
	}
	j.mu.Unlock()
	write()
	if err == nil {
		_, err = f.WriteAt(journalHeadOf(j.age+1), 0)
	}
	if err != nil {
		j.fail(err)
		return
	}
	j.age++
	_ = j.files[j.current].Truncate(0)
	j.current, j.size, j.limit = 1-j.current, size, max(leastRewrite, 2*size)
}

func journalHeadOf(age uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, journalMagic|JournalFormat<<32)
	return binary.LittleEndian.AppendUint64(b, age)
}

// openJournal returns the journal in two files. It passes existing records to apply. resumed is false if there
// are none.
func openJournal(files []*os.File, logger *slog.Logger, apply func(kind byte, ints []uint64, strings []string) error) (j *journal, resumed bool, err error) {
	j = &journal{logger: logger, files: files, limit: leastRewrite, inFlight: map[uint64][]byte{}, unsure: map[uint64]bool{}}
	for i, f := range files {
		var head [journalHead]byte
		if _, err := f.ReadAt(head[:], 0); err == nil && binary.LittleEndian.Uint32(head[:]) == journalMagic {
			if format := binary.LittleEndian.Uint32(head[4:]); format != JournalFormat {
				return nil, true, fmt.Errorf("the journal of the mount has format %d, and this program reads format %d", format, JournalFormat)
			}
			if age := binary.LittleEndian.Uint64(head[8:]); age > j.age {
				j.current, j.age, resumed = i, age, true
			}
		}
	}
	if !resumed {
		j.age, j.size = 1, journalHead
		_, err := files[0].WriteAt(journalHeadOf(1), 0)
		return j, false, err
	}
	if j.size, err = readJournal(files[j.current], j.remember(apply)); err != nil {
		return nil, true, err
	}
	j.limit = max(leastRewrite, 2*j.size)
	return j, true, nil
}

// remember keeps the records of changes for j, and passes on all others.
func (j *journal) remember(apply func(kind byte, ints []uint64, strings []string) error) func(kind byte, ints []uint64, strings []string) error {
	return func(kind byte, ints []uint64, strings []string) error {
		switch kind {
		case recIntent:
			j.inFlight[ints[0]], j.unsure[ints[0]] = nil, true
		case recAnswer:
			j.inFlight[ints[0]] = []byte(strings[0])
			delete(j.unsure, ints[0])
		case recDelivered:
			delete(j.inFlight, ints[0])
		default:
			return apply(kind, ints, strings)
		}
		return nil
	}
}

// readJournal passes all whole batches of f to apply, and returns their end. The kill of a server may have
// cut the last one short; its answers were not sent.
func readJournal(f *os.File, apply func(kind byte, ints []uint64, strings []string) error) (size int64, err error) {
	size = journalHead
	r := bufio.NewReaderSize(io.NewSectionReader(f, size, 1<<62), 256<<10)
	var batch []byte
	for {
		var head [batchHead]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return size, unlessEnd(err)
		}
		n := int(binary.LittleEndian.Uint32(head[:]))
		if n > 64<<20 {
			return size, nil
		}
		if cap(batch) < n {
			batch = make([]byte, n)
		}
		batch = batch[:n]
		if _, err := io.ReadFull(r, batch); err != nil {
			return size, unlessEnd(err)
		}
		if crc32.ChecksumIEEE(batch) != binary.LittleEndian.Uint32(head[4:]) {
			return size, nil
		}
		if err := readBatch(batch, apply); err != nil {
			return size, err
		}
		size += int64(batchHead + n)
	}
}

// unlessEnd returns err unless it is the end of a file.
func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

func readBatch(b []byte, apply func(kind byte, ints []uint64, strings []string) error) error {
	var ints [8]uint64
	var strings [2]string
	for len(b) > 0 {
		kind := b[0]
		if b = b[1:]; kind == 0 || int(kind) >= len(shapes) {
			return errJournal
		}
		shape := shapes[kind]
		for i := range shape.ints {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return errJournal
			}
			ints[i], b = v, b[n:]
		}
		for i := range shape.strings {
			v, n := binary.Uvarint(b)
			if n <= 0 || v > uint64(len(b)-n) {
				return errJournal
			}
			strings[i], b = string(b[n:n+int(v)]), b[n+int(v):]
		}
		if err := apply(kind, ints[:shape.ints], strings[:shape.strings]); err != nil {
			return err
		}
	}
	return nil
}

// The requests that must not be executed twice, and the requests that number open files.
var (
	changes = map[uint32]bool{
		6: true, 8: true, 9: true, 10: true, 11: true, 12: true, 13: true, // symlink, mknod, mkdir, unlink, rmdir, rename, link
		21: true, 24: true, 35: true, 45: true, // setxattr, removexattr, create, rename2
	}
	opens = map[uint32]bool{14: true, 27: true} // open, opendir
)

const (
	opWrite  = 16
	opCreate = 35
	entryOut = 128 // length of what describes a new file before the number of the open one
)

// isChange reports whether a request must not be executed twice. Writes at an offset may be.
func isChange(request []byte) bool {
	op := opcode(request)
	return changes[op] || op == opWrite && len(request) >= inHeader+40 && binary.NativeEndian.Uint32(request[inHeader+32:])&syscall.O_APPEND != 0
}

// begin records that a change is about to be executed.
func (j *journal) begin(request []byte) {
	if j == nil || !isChange(request) {
		return
	}
	number := unique(request) &^ resent
	j.mu.Lock()
	if _, again := j.inFlight[number]; !again {
		j.inFlight[number] = nil
		j.noteLocked(recIntent, []uint64{number})
	}
	j.mu.Unlock()
	j.flush()
}

// openedBy returns the number of the open file in an answer, 0 if there is none.
func openedBy(request, answer []byte) uint64 {
	at := outHeader
	switch op := opcode(request); {
	case op == opCreate:
		at += entryOut
	case !opens[op]:
		return 0
	}
	if len(answer) < at+8 || binary.NativeEndian.Uint32(answer[4:]) != 0 {
		return 0
	}
	return binary.NativeEndian.Uint64(answer[at:])
}

// answerOpen records an open file and the answer that has its number.
func (j *journal) answerOpen(request, answer []byte, ints []uint64, strings []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.noteLocked(recOpen, ints, strings...)
	j.answerLocked(request, answer)
}

// answerLocked records the answer to a request.
func (j *journal) answerLocked(request, answer []byte) {
	number := unique(request) &^ resent
	j.inFlight[number] = append([]byte{}, answer...)
	delete(j.unsure, number)
	j.noteLocked(recAnswer, []uint64{number}, string(answer))
}

// commit records the answer to a change, unless it is recorded, and returns when all records so far are in the file.
func (j *journal) commit(request, answer []byte) {
	if j == nil {
		return
	}
	if isChange(request) || opens[opcode(request)] {
		j.mu.Lock()
		if j.inFlight[unique(request)&^resent] == nil {
			j.answerLocked(request, answer)
		}
		j.mu.Unlock()
	}
	j.flush()
}

// delivered records that the kernel has the answer. The record may be lost, so it is written with the next one.
func (j *journal) delivered(request []byte) {
	if j == nil || !isChange(request) && !opens[opcode(request)] {
		return
	}
	number := unique(request) &^ resent
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.inFlight, number)
	j.noteLocked(recDelivered, []uint64{number})
	j.last--
}

// answer returns a copy of the answer to a request that the kernel sends once more, or nil if there is none.
func (j *journal) answer(request []byte) []byte {
	if j == nil || unique(request)&resent == 0 {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]byte(nil), j.inFlight[unique(request)&^resent]...)
}

// again reports whether a change may have been executed by a server that died before it could record
// the answer.
func (j *journal) again(number uint64) bool {
	if j == nil || number&resent == 0 {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.unsure[number&^resent]
}
