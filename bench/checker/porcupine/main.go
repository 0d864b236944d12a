// Command porcupine checks one history with the Porcupine library and prints what it took as one JSON object.
//
// It reads the formats of the benchmark: our JSON lines, Jepsen's etcd logs, and Porcupine's own kv logs. An
// operation of unknown end returns after everything else and accepts any output; a read of unknown end is left
// out; a failed cas asserts that the value differed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/anishathalye/porcupine"
)

type input struct {
	f        string
	key      string
	old, new int64
	text     string
}

type output struct {
	value   int64
	text    string
	ok      bool
	unknown bool
}

const absent = math.MinInt64

// What is shorter than this many seconds is checked several times, and the median counts.
const (
	short   = 0.05
	repeats = 5
)

type line struct {
	Process any             `json:"process"`
	Type    string          `json:"type"`
	F       string          `json:"f"`
	Key     any             `json:"key"`
	Value   json.RawMessage `json:"value"`
	TimeNs  int64           `json:"time_ns"`
	Schema  int             `json:"schema"`
}

func number(raw json.RawMessage) int64 {
	if len(raw) == 0 || string(raw) == "null" {
		return absent
	}
	value, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		panic(err)
	}
	return value
}

func pair(raw json.RawMessage) (int64, int64) {
	var both []json.RawMessage
	if err := json.Unmarshal(raw, &both); err != nil {
		panic(err)
	}
	return number(both[0]), number(both[1])
}

type builder struct {
	open map[string]porcupine.Operation
	done []porcupine.Operation
	last int64
}

func (b *builder) invoke(process string, in input, at int64) {
	b.open[process] = porcupine.Operation{Input: in, Call: at}
	b.last = at
}

func (b *builder) complete(process string, out output, at int64) {
	op, found := b.open[process]
	if !found {
		return
	}
	delete(b.open, process)
	op.Output, op.Return = out, at
	b.done = append(b.done, op)
	b.last = at
}

func (b *builder) finish() []porcupine.Operation {
	for _, op := range b.open {
		in := op.Input.(input)
		if in.f == "read" || in.f == "get" {
			continue
		}
		op.Output, op.Return = output{unknown: true}, math.MaxInt64
		b.done = append(b.done, op)
	}
	return b.done
}

func scan(path string, each func(string)) {
	file, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(make([]byte, 1<<20), 1<<26)
	for scanner.Scan() {
		each(scanner.Text())
	}
}

func readJSON(path string) []porcupine.Operation {
	b := &builder{open: map[string]porcupine.Operation{}}
	scan(path, func(text string) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			panic(err)
		}
		if l.Schema != 0 {
			return
		}
		process := fmt.Sprint(l.Process)
		switch l.Type {
		case "invoke":
			in := input{f: l.F, key: fmt.Sprint(l.Key)}
			switch l.F {
			case "write":
				in.new = number(l.Value)
			case "cas":
				in.old, in.new = pair(l.Value)
			}
			b.invoke(process, in, l.TimeNs)
		case "ok":
			out := output{ok: true}
			if l.F == "read" {
				out.value = number(l.Value)
			}
			b.complete(process, out, l.TimeNs)
		case "fail":
			b.complete(process, output{}, l.TimeNs)
		}
	})
	return b.finish()
}

var etcdLine = regexp.MustCompile(`^INFO\s+jepsen\.util - (\d+)\s+:(\w+)\s+:(\w+)\s+(.*?)\s*$`)
var kvLine = regexp.MustCompile(`\{:process (\d+), :type :(\w+), :f :(\w+), :key "(.*)", :value (nil|"(.*)")\}`)

func etcdNumber(text string) int64 {
	if text == "nil" {
		return absent
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return value
}

func readEtcd(path string) []porcupine.Operation {
	b := &builder{open: map[string]porcupine.Operation{}}
	at := int64(0)
	scan(path, func(text string) {
		found := etcdLine.FindStringSubmatch(text)
		if found == nil {
			return
		}
		at++
		process, kind, f, value := found[1], found[2], found[3], found[4]
		switch kind {
		case "invoke":
			in := input{f: f}
			if f == "write" {
				in.new = etcdNumber(value)
			}
			if f == "cas" {
				both := strings.Fields(strings.Trim(value, "[]"))
				in.old, in.new = etcdNumber(both[0]), etcdNumber(both[1])
			}
			b.invoke(process, in, at)
		case "ok":
			out := output{ok: true}
			if f == "read" {
				out.value = etcdNumber(value)
			}
			b.complete(process, out, at)
		case "fail":
			if f == "cas" {
				b.complete(process, output{}, at)
			} else {
				delete(b.open, process)
			}
		}
	})
	return b.finish()
}

func readKV(path string) []porcupine.Operation {
	b := &builder{open: map[string]porcupine.Operation{}}
	at := int64(0)
	scan(path, func(text string) {
		found := kvLine.FindStringSubmatch(text)
		if found == nil {
			return
		}
		at++
		if found[2] == "invoke" {
			b.invoke(found[1], input{f: found[3], key: found[4], text: found[6]}, at)
		} else {
			b.complete(found[1], output{ok: true, text: found[6]}, at)
		}
	})
	return b.finish()
}

func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	groups := map[string][]porcupine.Operation{}
	for _, op := range history {
		key := op.Input.(input).key
		groups[key] = append(groups[key], op)
	}
	var all [][]porcupine.Operation
	for _, group := range groups {
		all = append(all, group)
	}
	return all
}

var register = porcupine.Model{
	Partition: byKey,
	Init:      func() any { return int64(absent) },
	Step: func(state, in, out any) (bool, any) {
		held, asked, told := state.(int64), in.(input), out.(output)
		switch asked.f {
		case "read":
			return told.value == held, held
		case "write":
			return true, asked.new
		}
		if told.unknown {
			if held == asked.old {
				return true, asked.new
			}
			return true, held
		}
		if told.ok {
			return held == asked.old, asked.new
		}
		return held != asked.old, held
	},
}

var kv = porcupine.Model{
	Partition: byKey,
	Init:      func() any { return "" },
	Step: func(state, in, out any) (bool, any) {
		held, asked, told := state.(string), in.(input), out.(output)
		switch asked.f {
		case "get":
			return told.text == held, held
		case "put":
			return true, asked.text
		}
		return true, held + asked.text
	},
}

func median(times []float64) float64 {
	sort.Float64s(times)
	return times[len(times)/2]
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	spent := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return spent.Seconds()
}

func main() {
	limit, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		panic(err)
	}
	total := 0.0
	totalCPU := 0.0
	slowest := 0.0
	var verdicts []string
	for _, path := range os.Args[2:] {
		model, read := register, readJSON
		switch {
		case strings.HasSuffix(path, ".log"):
			read = readEtcd
		case strings.HasSuffix(path, ".txt"):
			model, read = kv, readKV
		}
		history := read(path)
		var times, cpuTimes []float64
		var result porcupine.CheckResult
		for len(times) == 0 || (times[0] < short && len(times) < repeats) {
			runtime.GC()
			beganCPU := cpuSeconds()
			began := time.Now()
			result = porcupine.CheckOperationsTimeout(model, history, time.Duration(limit*float64(time.Second)))
			times = append(times, time.Since(began).Seconds())
			cpuTimes = append(cpuTimes, cpuSeconds()-beganCPU)
		}
		seconds := median(times)
		total += seconds
		totalCPU += median(cpuTimes)
		slowest = max(slowest, seconds)
		names := map[porcupine.CheckResult]string{porcupine.Ok: "pass", porcupine.Illegal: "violation"}
		verdict, known := names[result]
		if !known {
			verdict = "unknown"
		}
		verdicts = append(verdicts, verdict)
	}
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	told, _ := json.Marshal(map[string]any{
		"verdict": strings.Join(verdicts, " "), "seconds": total, "cpu_s": totalCPU, "slowest": slowest,
		"rss_mb": float64(usage.Maxrss) / 1024, "cores": runtime.GOMAXPROCS(0),
	})
	fmt.Println(string(told))
}
