package profile

// ThreadUse holds what is known of the threads of a process at the start of
// MPI_Finalize.
type ThreadUse struct {
	// Busy is the number of threads that used a processor: those of the process with
	// at least 5 % of the CPU time of the busiest. Threads that had ended do not count.
	Busy int `json:"busy"`
	// CPUNs and DelayNs are sums over the threads that made calls, over their
	// lifetimes (see Profile.Lifetimes): their CPU time, and the time in which they
	// were ready to run but had no processor.
	CPUNs   uint64 `json:"cpu_ns"`
	DelayNs uint64 `json:"delay_ns"`
	// Incomplete reports whether the two sums lack some threads.
	Incomplete bool `json:"incomplete,omitempty"`
}

// NoCore is the time in which a process had no processor, as a share of the time of
// its threads that make calls (see Times.OfThreads).
type NoCore struct {
	Share   float64 // at most 1
	AtLeast bool    // some threads are not included
}
