package broker

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs"
)

// variable is the environment variable of a server with the descriptor of its socket to the broker, the number of
// replacements so far, and its session, separated by commas.
const variable = "PFS_BROKER_FD"

// Link is a server's connection to its broker.
type Link struct {
	socket  *socket
	nth     int // replacements so far
	session string
	format  uint32     // of the journal of the mount
	calls   sync.Mutex // one at a time

	connection *fuse.Connection
	direct     *fuse.Connection // without the broker
	answers    chan received

	mu      sync.Mutex // guards the following
	late    int        // calls that were given up: their answers come before all others
	pid     int        // 0 if the broker is gone
	healthy func()
	drain   func()
	refused fuse.Refused
}

type received struct {
	message
	files []*os.File
}

// Inherited returns the link of a server that a broker has started, or nil if no broker has started this process.
func Inherited() (*Link, error) {
	number, rest, more := strings.Cut(os.Getenv(variable), ",")
	nth, session, _ := strings.Cut(rest, ",")
	fd, err := strconv.Atoi(number)
	if err != nil {
		return nil, nil
	}
	os.Unsetenv(variable)
	s, err := newSocket(os.NewFile(uintptr(fd), "broker"))
	if err != nil {
		return nil, err
	}
	l := &Link{socket: s, session: session, format: fuse.JournalFormat, answers: make(chan received, 1)}
	if l.nth, err = strconv.Atoi(nth); more && err != nil { // a broker of an older version sends a word
		l.nth = 1
	}
	go l.listen()
	return l, nil
}

// listen handles what the broker sends, until the broker has ended.
func (l *Link) listen() {
	defer close(l.answers)
	for {
		m, files, err := l.socket.receive()
		if err != nil {
			l.mu.Lock()
			l.pid = 0
			l.mu.Unlock()
			return
		}
		l.mu.Lock()
		healthy, drain := l.healthy, l.drain
		l.mu.Unlock()
		switch m.Do {
		case doAnswer:
			l.mu.Lock()
			if l.late > 0 {
				l.late--
				for _, f := range files {
					f.Close()
				}
			} else {
				l.answers <- received{m, files} // it has room: there is one call at a time
			}
			l.mu.Unlock()
		case doPing:
			go func() {
				healthy()
				_ = l.socket.send(message{Do: doPong})
			}()
		case doRefused:
			l.mu.Lock()
			l.refused = fuse.Refused{Upgrades: l.refused.Upgrades + 1, Reason: m.Error}
			l.mu.Unlock()
		case doDrain:
			if drain != nil { // else it serves nothing yet, and the broker kills it
				go drain()
			}
		}
	}
}

// callWait bounds how long a server waits for its broker, which may be stopped.
const callWait = 10 * time.Second

// call asks the broker, and returns its answer.
func (l *Link) call(m message, files ...*os.File) (received, error) {
	return l.ask(time.After(callWait), m, files...)
}

// ask is call until something is received from end.
func (l *Link) ask(end <-chan time.Time, m message, files ...*os.File) (received, error) {
	l.calls.Lock()
	defer l.calls.Unlock()
	if err := l.socket.send(m, files...); err != nil {
		return received{}, err
	}
	select {
	case r, ok := <-l.answers:
		return answered(r, ok)
	case <-end:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case r, ok := <-l.answers: // just now
		return answered(r, ok)
	default:
		l.late++
		return received{}, pfs.Errorf("broker.call", "", pfs.Unavailable, "the broker does not answer")
	}
}

// answered returns the answer r of a broker, which has ended if ok is false.
func answered(r received, ok bool) (received, error) {
	if !ok {
		return r, errors.New("the broker has ended")
	}
	return r, r.failure()
}

// Replacements returns how many servers were started for the mount before this one.
func (l *Link) Replacements() int { return l.nth }

// Session names this server and the servers that replace it after its death, but not a server that replaces it while it works.
func (l *Link) Session() string { return l.session }

// Connect returns the mount at dir for [fuse.Mount]: a new one with the options opts, or the mount of a server that
// has ended. It waits for a server that is about to end. Later calls return the same mount.
func (l *Link) Connect(dir string, opts fuse.Options) (*fuse.Connection, error) {
	if l.connection != nil {
		return l.connection, nil
	}
	r, err := l.ask(nil, message{Do: doConnect, Dir: dir, Source: opts.Source, ReadOnly: opts.ReadOnly, Squash: opts.Squash, Owner: opts.Owner, Root: string(opts.Root), Format: l.format})
	if err != nil {
		return nil, err
	}
	if len(r.files) != 3 {
		return nil, pfs.Errorf("broker.Connect", "", pfs.Other, "the broker has sent %d files", len(r.files))
	}
	l.mu.Lock()
	l.pid = r.PID
	l.mu.Unlock()
	l.connection = &fuse.Connection{Dir: r.Dir, Device: r.files[0], State: r.files[1:], Hello: r.Hello, UID: r.UID, GID: r.GID, Broker: l}
	l.direct = &fuse.Connection{Device: l.connection.Device}
	return l.connection, nil
}

// Register makes f a backing file that the kernel may use. If the server is not root, the broker registers it.
func (l *Link) Register(f *os.File) (int32, error) {
	if os.Geteuid() == 0 {
		return l.direct.Register(f)
	}
	r, err := l.call(message{Do: doRegister}, f)
	return r.ID, err
}

// Unregister ends what Register began.
func (l *Link) Unregister(id int32) error {
	if os.Geteuid() == 0 {
		return l.direct.Unregister(id)
	}
	_, err := l.call(message{Do: doUnregister, ID: id})
	return err
}

// Keep makes the broker keep f open for a server that replaces this one, until Drop.
func (l *Link) Keep(key string, f *os.File) error {
	_, err := l.call(message{Do: doKeep, Key: key}, f)
	return err
}

// Kept returns the file that was kept as key, or nil.
func (l *Link) Kept(key string) (*os.File, error) {
	r, err := l.call(message{Do: doKept, Key: key})
	if err != nil || len(r.files) == 0 {
		return nil, err
	}
	return r.files[0], nil
}

// Drop ends what Keep began.
func (l *Link) Drop(key string) error {
	_, err := l.call(message{Do: doDrop, Key: key})
	return err
}

// Unmount makes the broker end the mount.
func (l *Link) Unmount() error {
	_, err := l.call(message{Do: doUnmount})
	return err
}

// Serving tells the broker that the server answers requests.
func (l *Link) Serving(healthy, drain func()) error {
	l.mu.Lock()
	l.healthy, l.drain = healthy, drain
	l.mu.Unlock()
	_, err := l.call(message{Do: doServing})
	return err
}

// Refused returns the upgrades that have failed while this process served.
func (l *Link) Refused() fuse.Refused {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// PID returns the process ID of the broker, 0 if it has ended.
func (l *Link) PID() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pid
}
