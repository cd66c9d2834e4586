/* Search without a server: browsers start no workers for pages that are opened as files. Here a hidden frame is the worker. */
if (location.protocol === "file:")
    window.Worker = window.IFrameWorker = class extends EventTarget {
        constructor(url) {
            super();
            this.waiting = [];
            const frame = document.createElement("iframe");
            frame.hidden = true;
            frame.srcdoc = `<script>
                var worker = frameElement.worker;
                function postMessage(data) { worker.dispatchEvent(new MessageEvent("message", { data: data })); }
                </` + `script><script src="${new URL(url, document.baseURI)}"></` + `script>
                <script>worker.begin(window);</` + `script>`;
            frame.worker = this;
            document.body.appendChild(frame);
        }
        begin(window) {
            this.window = window;
            this.waiting.forEach(data => this.postMessage(data));
        }
        postMessage(data) {
            if (this.window) this.window.dispatchEvent(new this.window.MessageEvent("message", { data: data }));
            else this.waiting.push(data);
        }
        terminate() {}
    };
