"""The report: one HTML file with everything that lect did to a program, from the lines of its source to machine code.

    recorder = Recorder(log)          of `recording`: from now on, compiles of this log are recorded
    write_report(recorder, path)      the file; of `page`

`recording` watches compiles, `fusion`, `memory`, `backend_texts` and `sources` take from a compile what one part of the page shows, `page` puts
it together.  The page itself is `page.html`, `page.css` and the `.js` files beside this one: no library, nothing from the network.
"""

