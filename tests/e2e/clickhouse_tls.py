# SPDX-License-Identifier: Apache-2.0
"""clickhouse_tls.py PORT CERTIFICATE KEY SERVER_PORT: a ClickHouse server behind TLS

clickhouse_tls.py PORT VERSION: what answers every request with VERSION, as a server of that release; or, where VERSION
is "endless", with bytes that do not end.
"""
import http.server
import socket
import ssl
import sys
import threading


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(client, server_port):
    with client, socket.create_connection(("127.0.0.1", server_port)) as server:
        back = threading.Thread(target=copy, args=(server, client), daemon=True)
        back.start()
        copy(client, server)
        back.join()


def front(port, certificate, key, server_port):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", port)) as listener:
        while True:
            raw, _ = listener.accept()
            try:
                client = context.wrap_socket(raw, server_side=True)
            except (OSError, ssl.SSLError):
                raw.close()
                continue
            threading.Thread(target=serve, args=(client, server_port), daemon=True).start()


class Answer(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(200)
        self.end_headers()
        try:
            if sys.argv[2] == "endless":
                while True:
                    self.wfile.write(b"9" * 65536)
            self.wfile.write(sys.argv[2].encode() + b"\n")
        except OSError:
            pass

    def log_message(self, *_):
        pass


if len(sys.argv) > 3:
    front(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
else:
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
