cgon; mk A 100; mk B 300
sleep 0.3
trace_on 2000
wl hog tasks=h00:0,h01:0,h02:0,h03:0 dur=2000 cg=/cg/A,/cg/B
trace_off
rmcg
