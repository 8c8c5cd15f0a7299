// The search runs in a worker, which browsers refuse to pages opened from a folder. There a hidden
// frame takes its place.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.answer(data);
      this.inside.importScripts = (...urls) => this.load(urls);
      this.ready = this.load([url]);
    }

    // One script after the other.
    load(urls) {
      const page = this.inside.document;
      return urls.reduce(
        (before, url) =>
          before.then(
            () =>
              new Promise((resolve, reject) => {
                const script = page.createElement("script");
                script.src = new URL(url, location.href).href;
                script.onload = resolve;
                script.onerror = reject;
                page.body.appendChild(script);
              }),
          ),
        Promise.resolve(),
      );
    }

    postMessage(data) {
      this.ready = this.ready.then(() =>
        this.inside.dispatchEvent(new MessageEvent("message", { data })),
      );
    }

    answer(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }

    terminate() {}
  };
}
