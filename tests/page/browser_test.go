package page

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// answersWithin is how long the browser may take for one command on a busy machine.
const answersWithin = time.Minute

// startBrowser starts chromium at its first call. All tests share it.
var startBrowser = sync.OnceValues(func() (context.Context, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"),
		chromedp.NoSandbox, // root, as in containers, has no sandbox
		chromedp.DisableGPU,
		chromedp.UserDataDir(filepath.Join(scratch, "chromium")),
		// No name resolves and no connection to another machine opens, whatever a page asks for.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("proxy-server", "127.0.0.1:9"),
	)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, quit := chromedp.NewContext(ctx)
	stopBrowser = func() { quit(); stop() }
	return ctx, chromedp.Do(ctx)
})

// stopBrowser ends the browser, if one was started.
var stopBrowser = func() {}

// A tab shows a page and keeps what went wrong in it.
type tab struct {
	*testing.T
	ctx   context.Context
	url   string
	site  string  // what its requests may begin with, if a server sent it
	ready float64 // ms from the start of loading until the page was ready

	mu       sync.Mutex
	problems []string
}

// openTab opens a file in a window of 1280 × 900 pixels, in light colours, and waits
// until the page is ready. The test fails if, until its end, the page requests anything
// but itself, writes to the console, violates its security policy, opens a dialog or
// throws an exception.
func openTab(t *testing.T, file string) *tab {
	t.Helper()
	return openPage(t, &tab{T: t, url: "file://" + file})
}

func openPage(t *testing.T, p *tab) *tab {
	t.Helper()
	testenv.Need(t, "chromium")
	browser, err := startBrowser()
	if err != nil {
		t.Fatal(err)
	}
	ctx, closeTab := chromedp.NewContext(browser, chromedp.WithListener(p.observe))
	p.ctx = ctx
	t.Cleanup(func() {
		closeTab()
		for _, problem := range p.problems {
			t.Errorf("%s: %s", filepath.Base(p.url), problem)
		}
	})
	send(p, network.Enable, network.EnableParams{})
	send(p, log.Enable, cdp.Empty{})
	p.resize(1280, 900)
	p.prefer("light")
	p.do(chromedp.Navigate(p.url))
	p.awaitReady()
	return p
}

// awaitReady waits until the page is ready, or something went wrong.
func (p *tab) awaitReady() {
	p.Helper()
	for end := time.Now().Add(answersWithin); p.ready == 0; {
		p.ready = eval[float64](p, `new Promise((done) => {
			const look = (left) => {
				if (document.documentElement.dataset.ready === "yes") done(performance.now());
				else if (left === 0) done(0);
				else setTimeout(look, 5, left - 1);
			};
			look(50);
		})`)
		p.mu.Lock()
		failed := len(p.problems) > 0 && p.ready == 0
		p.mu.Unlock()
		if failed || time.Now().After(end) {
			p.Fatal("the page does not become ready")
		}
	}
}

// observe records the events that no page may cause. It runs in the loop that reads
// the browser's messages, so that it must not send any itself.
func (p *tab) observe(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if url := e.Request.URL; url != p.url && (p.site == "" || !strings.HasPrefix(url, p.site)) && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "blob:") {
			p.problem("requests %s", url)
		}
	case *network.EventWebSocketCreated:
		p.problem("opens %s", e.URL)
	case *log.EventEntryAdded:
		p.problem("%s %s: %s", e.Entry.Source, e.Entry.Level, e.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		for _, a := range e.Args {
			p.problem("console.%s: %s%s", e.Type, a.Value, a.Description)
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		p.problem("line %d: %s", e.ExceptionDetails.LineNumber+1, text)
	case *page.EventJavascriptDialogOpening:
		p.problem("opens a dialog: %s", e.Message)
		go chromedp.Call(p.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
	}
}

func (p *tab) problem(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text := fmt.Sprintf(format, args...); !slices.Contains(p.problems, text) {
		p.problems = append(p.problems, text)
	}
}

// do carries out steps, or ends the test.
func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, answersWithin)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.Fatal(err, p.problems)
	}
}

// send sends a command of the DevTools protocol.
func send[P, R any](p *tab, command cdp.Command[P, R], params P) {
	p.Helper()
	if _, err := chromedp.Call(p.ctx, command, params); err != nil {
		p.Fatal(command.Method, err)
	}
}

// eval returns the value of a JavaScript expression, or of the promise that it is.
func eval[T any](p *tab, expression string) T {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, answersWithin)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%v in %s %s", err, expression, p.problems)
	}
	return v
}

// script runs JavaScript.
func (p *tab) script(text string, args ...any) {
	p.Helper()
	p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("{"+text+"}", args...)))
	p.settle()
}

// settle waits until the page has drawn what it was asked to draw.
func (p *tab) settle() {
	p.Helper()
	eval[bool](p, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
}

func (p *tab) resize(width, height int64) {
	p.Helper()
	p.do(chromedp.EmulateViewport(width, height))
}

// prefer sets the colour scheme that the user prefers: light or dark.
func (p *tab) prefer(scheme string) {
	p.Helper()
	send(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// hover moves the mouse to a point of the window.
func (p *tab) hover(x, y float64) {
	p.Helper()
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
	p.settle()
}

// wheel turns the mouse wheel at a point of the window; up is negative.
func (p *tab) wheel(x, y, delta float64) {
	p.Helper()
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseWheel, x, y, func(e *input.DispatchMouseEventParams) {
		e.DeltaX, e.DeltaY = 1e-9, delta // zeros are left out, but both are needed
	}))
	p.settle()
}

// drag moves the mouse between two points with its left button pressed.
func (p *tab) drag(fromX, fromY, toX, toY float64) {
	p.Helper()
	p.do(chromedp.DragAndDropXY(fromX, fromY, toX, toY, 4))
	p.settle()
}

// keys types keys, such as those of package kb, into the element that has the focus.
func (p *tab) keys(keys string) {
	p.Helper()
	p.do(chromedp.KeyEvent(keys))
	p.settle()
}

// picture writes the window as a PNG file, if pictures are kept.
func (p *tab) picture(name string) {
	p.Helper()
	if os.Getenv("MPITRACE_PAGE_PICTURES") == "" {
		return
	}
	p.settle()
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.Fatal(err)
	}
	p.keep(name+".png", png)
}

// keep writes a file into the directory $MPITRACE_PAGE_PICTURES, if it is set.
func (p *tab) keep(name string, data []byte) {
	p.Helper()
	if dir := os.Getenv("MPITRACE_PAGE_PICTURES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			p.Error(err)
		}
	}
}
