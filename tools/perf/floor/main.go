// Command floor shows what a broker cannot do without: it reads frames from loopback connections and answers each with a
// fixed reply, like the limit program, and does one more thing at a time. Measured with the same load generator in one
// run, the steps say how much of the limit is left to any broker that keeps what it acknowledges in a file.
//
//	floor -addr 127.0.0.1:30912 [-long] [-write DIR [-keep BYTES]] [-crc]
//
// -long answers with as many bytes as RocketMQ's reply has; -write puts what each read brought into a file with one pwrite
// before it is answered, into zeros written ahead, with write-back started and old pages given back, as the store does;
// -crc sums up each frame's body, as every record's.
package main

import (
	"bufio"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	fileSize = 1 << 30
	piece    = 256 << 10 // of zeros
	ahead    = 16 << 20  // how far the zeros go
	backStep = 4 << 20   // of write-back
)

var (
	addr = flag.String("addr", "127.0.0.1:30912", "address")
	long = flag.Bool("long", false, "answer with as many bytes as RocketMQ's reply has")
	dir  = flag.String("write", "", "write to files in this folder")
	keep = flag.Int64("keep", 1<<30, "bytes of page cache to keep behind the end")
	crc  = flag.Bool("crc", false, "sum up the bodies")
)

func main() {
	flag.Parse()
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		fail(err)
	}
	var w *file
	if *dir != "" {
		w = newFile(*dir)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			fail(err)
		}
		go serve(c, w)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "floor:", err)
	os.Exit(1)
}

func serve(c net.Conn, w *file) {
	defer c.Close()
	r, out := bufio.NewReaderSize(c, 256<<10), bufio.NewWriterSize(c, 64<<10)
	var burst, replies []byte
	buf := make([]byte, 1<<20)
	for {
		if r.Buffered() < 8 {
			if w != nil && len(burst) > 0 {
				w.append(burst)
			}
			if _, err := out.Write(replies); err != nil || out.Flush() != nil {
				return
			}
			burst, replies = burst[:0], replies[:0]
		}
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		n, hl := int(binary.BigEndian.Uint32(head[:]))-4, int(binary.BigEndian.Uint32(head[4:])&0xffffff)
		if n < hl || n > len(buf) {
			return
		}
		b := buf[:n]
		if _, err := io.ReadFull(r, b); err != nil {
			return
		}
		var sum uint32
		if *crc {
			sum = crc32.ChecksumIEEE(b[hl:])
		}
		if w != nil {
			var record [150]byte // what a record has beside its body
			binary.BigEndian.PutUint32(record[:], sum)
			burst = append(append(burst, record[:]...), b[hl:]...)
		}
		replies = reply(replies, b[:hl])
	}
}

const (
	replyHead = `{"code":0,"extFields":{"msgId":"7F00000100002A9F0000000000000000","queueId":"0","queueOffset":"1000000"`
	replyMore = `,"transactionId":"7F0000010000000000001234567890ABCDEF0123","MSG_REGION":"DefaultRegion","TRACE_ON":"true"`
	replyTail = `},"flag":1,"language":"GO","opaque":`
	replyEnd  = `,"serializeTypeCurrentRPC":"JSON","version":513}`
)

func reply(dst, header []byte) []byte {
	from := len(dst)
	dst = append(append(dst, "........"...), replyHead...)
	if *long {
		dst = append(dst, replyMore...)
	}
	dst = strconv.AppendInt(append(dst, replyTail...), opaque(header), 10)
	dst = append(dst, replyEnd...)
	binary.BigEndian.PutUint32(dst[from:], uint32(len(dst)-from-4))
	binary.BigEndian.PutUint32(dst[from+4:], uint32(len(dst)-from-8))
	return dst
}

func opaque(h []byte) (n int64) {
	const key = `"opaque":`
	for i := 0; i+len(key) < len(h); i++ {
		if h[i] == '"' && string(h[i:i+len(key)]) == key {
			for j := i + len(key); j < len(h) && h[j] >= '0' && h[j] <= '9'; j++ {
				n = n*10 + int64(h[j]-'0')
			}
			return n
		}
	}
	return 0
}

// file is a log of files that are thrown away when they are full.
type file struct {
	dir  string
	mu   sync.Mutex
	f    *os.File
	end  int64 // of what was written to f
	wake chan int64
}

func newFile(dir string) *file {
	w := &file{dir: dir, wake: make(chan int64, 1)}
	w.next()
	return w
}

// next begins a new file, with a filler of its own. Called with mu held, or before there is anybody else.
func (w *file) next() {
	f, err := os.OpenFile(filepath.Join(w.dir, "floor.log"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		fail(err)
	}
	if w.f != nil {
		close(w.wake)
	}
	w.f, w.end, w.wake = f, 0, make(chan int64, 1)
	go fill(f, w.wake)
	w.wake <- 0
}

func (w *file) append(b []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end+int64(len(b)) > fileSize {
		w.next()
	}
	if _, err := w.f.WriteAt(b, w.end); err != nil {
		fail(err)
	}
	w.end += int64(len(b))
	select {
	case w.wake <- w.end:
	default:
	}
}

// fill writes zeros ahead of the end, has what was written go to the disk, and gives its memory back.
func fill(f *os.File, ends <-chan int64) {
	defer f.Close()
	fd := int(f.Fd())
	zeros := make([]byte, piece)
	filled, written, forgotten := int64(0), int64(0), int64(0)
	for end := range ends {
		for ; filled < min(end+ahead, fileSize); filled += piece {
			if filled%ahead == 0 {
				_ = unix.Fallocate(fd, 0, filled, ahead)
			}
			if filled >= end {
				_, _ = f.WriteAt(zeros, filled)
			}
		}
		for ; written+backStep <= end; written += backStep {
			_ = unix.SyncFileRange(fd, written, backStep, unix.SYNC_FILE_RANGE_WRITE)
		}
		for ; forgotten+backStep <= written-*keep; forgotten += backStep {
			_ = unix.Fadvise(fd, forgotten, backStep, unix.FADV_DONTNEED)
		}
	}
}
