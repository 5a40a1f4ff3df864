;; A unit as WebAssembly: state feedback with the gain "baseline". The decision module calls `begin` once and `step` in
;; every cycle. Speeds are filtered differences, so it works at any rate.
(module
  (global $period (mut f64) (f64.const 0))    ;; s
  (global $share (mut f64) (f64.const 0))     ;; of a new difference in a speed
  (global $started (mut i32) (i32.const 0))
  (global $position (mut f64) (f64.const 0))  ;; m, of the sample before
  (global $angle (mut f64) (f64.const 0))     ;; rad
  (global $velocity (mut f64) (f64.const 0))  ;; m/s
  (global $turning (mut f64) (f64.const 0))   ;; rad/s

  ;; The period of the loop in s. The filter has a time constant of 10 ms.
  (func (export "begin") (param $seconds f64)
    (global.set $period (local.get $seconds))
    (global.set $share
      (f64.div (local.get $seconds) (f64.add (local.get $seconds) (f64.const 0.01)))))

  ;; A speed after one more difference of the measurement.
  (func $filtered (param $speed f64) (param $difference f64) (result f64)
    (f64.add (local.get $speed)
      (f64.mul (global.get $share)
        (f64.sub (f64.div (local.get $difference) (global.get $period)) (local.get $speed)))))

  ;; Position in m, angle in rad, mean voltage since the sample before in V; the result is the voltage.
  (func (export "step") (param $x f64) (param $a f64) (param $applied f64) (result f64)
    (if (global.get $started)
      (then
        (global.set $velocity
          (call $filtered (global.get $velocity) (f64.sub (local.get $x) (global.get $position))))
        (global.set $turning
          (call $filtered (global.get $turning) (f64.sub (local.get $a) (global.get $angle))))))
    (global.set $started (i32.const 1))
    (global.set $position (local.get $x))
    (global.set $angle (local.get $a))
    (f64.max (f64.const -4.95) (f64.min (f64.const 4.95)
      (f64.add
        (f64.add
          (f64.mul (f64.const 3.16) (local.get $x))
          (f64.mul (f64.const 19.85) (global.get $velocity)))
        (f64.add
          (f64.mul (f64.const 69.92) (local.get $a))
          (f64.mul (f64.const 14.38) (global.get $turning))))))))
