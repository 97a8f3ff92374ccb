"""The local server: the functions of template.yaml behind an imitation of API Gateway's HTTP API.

| module | what it does |
|---|---|
| template | reads functions, routes, schedules, layers and environment out of template.yaml |
| routes | picks the route of a request, as the gateway does |
| paths | what the gateway makes of a request's path and query |
| events | an HTTP request to a payload version 2.0 event |
| answers | what a function returned to an HTTP answer |
| functions | imports the handlers and calls them with a Lambda-like context and time limit |
| gateway | one request through all of the above; knows no sockets |
| bodies | request bodies off the wire, with the gateway's limits |
| front | HTTP/1.1 on a socket, in threads |
| schedules | runs the rate(...) schedules |
| backends | the AWS the functions talk to: moto, ministack with a state folder, or an endpoint |
| credentials | the platform key, the demo tenant, and the file that keeps them |
| console | what the terminal shows |
| settings | the variables that say how to run |
| server | puts it all together |
"""
