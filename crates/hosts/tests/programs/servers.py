"""API servers as a load balancer sees them, and somebody who asks for them.

servers.py serve NAME PEM ADDRESS PORT: answers /readyz with 200 while the file NAME.ready is there, everything else with
NAME, and notes who reached it otherwise than by /readyz in NAME.hits.
servers.py ask ADDRESS PORT: one request; prints the answer, or `-` where there was none.
"""

import http.server
import os
import socket
import ssl
import sys


def serve(name, pem, address, port):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            is_check = self.path == "/readyz"
            if not is_check:
                with open(name + ".hits", "a") as hits:
                    hits.write(self.path + "\n")
            self.send_response(500 if is_check and not os.path.exists(name + ".ready") else 200)
            self.end_headers()
            self.wfile.write(name.encode())

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in address else socket.AF_INET

        def finish_request(self, request, client_address):
            try:
                request = context.wrap_socket(request, server_side=True)
                super().finish_request(request, client_address)
            except OSError:
                # Whoever does not trust the certificate hangs up.
                with open(name + ".refused", "a") as refused:
                    refused.write("x")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    Server((address, int(port)), Handler).serve_forever()


def ask(address, port):
    context = ssl._create_unverified_context()
    try:
        with socket.create_connection((address, int(port)), 3) as plain:
            with context.wrap_socket(plain, server_hostname="kubernetes") as tls:
                tls.sendall(b"GET /who HTTP/1.0\r\n\r\n")
                answer = b""
                while part := tls.recv(4096):
                    answer += part
                print(answer.split(b"\r\n\r\n", 1)[1].decode())
    except (OSError, IndexError):
        print("-")


{"serve": serve, "ask": ask}[sys.argv[1]](*sys.argv[2:])
