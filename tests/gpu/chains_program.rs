// Makes CUDA calls from Rust, for tests/gpu/chains.py: in closures and generics, while a panic
// passes and after it was caught, below callbacks of C, in threads and when they end.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_void};
use std::future::Future;
use std::panic::{catch_unwind, resume_unwind, set_hook, AssertUnwindSafe};
use std::pin::Pin;
use std::ptr::{addr_of_mut, null_mut};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::task::{Context, Poll, Wake};
use std::thread;

extern "C" {
    fn cuInit(flags: c_uint) -> c_int;
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> c_int;
    fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) -> c_int;
    fn cuCtxSetCurrent(context: *mut c_void) -> c_int;
    fn cuMemAlloc_v2(memory: *mut u64, bytes: usize) -> c_int;
    fn cuMemsetD8_v2(memory: u64, value: u8, count: usize) -> c_int;
}

extern "C-unwind" {
    fn qsort(
        base: *mut c_void,
        count: usize,
        bytes: usize,
        compare: extern "C-unwind" fn(*const c_void, *const c_void) -> c_int,
    );
}

static CONTEXT: AtomicUsize = AtomicUsize::new(0);
static MEMORY: AtomicU64 = AtomicU64::new(0);

fn check(result: c_int) {
    assert_eq!(result, 0);
}

fn call() {
    check(unsafe { cuMemsetD8_v2(MEMORY.load(Ordering::Relaxed), 1, 4) });
}

struct Caller(u32);

impl Drop for Caller {
    fn drop(&mut self) {
        if self.0 % 2 == 0 {
            call();
        }
    }
}

// ---- closures, generics, trait objects ----

trait Shape {
    fn draw(&self, how: &mut dyn FnMut(u32));
}

struct Square<const SIDES: usize>;

impl<const SIDES: usize> Shape for Square<SIDES> {
    fn draw(&self, how: &mut dyn FnMut(u32)) {
        (0..SIDES as u32).for_each(|side| how(side));
    }
}

fn apply<T: Copy, F: Fn(T) -> T>(value: T, times: u32, function: &F) -> T {
    call();
    if times == 0 {
        function(value)
    } else {
        apply(function(value), times - 1, function)
    }
}

fn closures() {
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square::<3>), Box::new(Square::<4>)];
    let mut table: BTreeMap<u32, Box<dyn Fn(u32) -> u32>> = BTreeMap::new();
    let mut sum = 0;

    table.insert(0, Box::new(|side| side + 1));
    table.insert(1, Box::new(move |side| apply(side, 3, &|value| value + 1)));
    for shape in &shapes {
        shape.draw(&mut |side| sum += table.values().map(|function| function(side)).sum::<u32>());
    }
    assert!(apply(1.5f64, 4, &|value| value * 2.0) > 1.0);
    assert!(sum > 0);
}

// ---- callbacks ----

extern "C-unwind" fn compare(left: *const c_void, right: *const c_void) -> c_int {
    let (left, right) = unsafe { (*(left as *const u64), *(right as *const u64)) };

    if (left + right) % 8 == 0 {
        call();
    }
    left.cmp(&right) as c_int
}

fn sort() {
    let mut numbers: Vec<u64> = (0..64).map(|i| i * 37 % 64).collect();
    let mut again = numbers.clone();

    numbers.sort_by(|a, b| {
        if (a + b) % 8 == 0 {
            call();
        }
        a.cmp(b)
    });
    unsafe { qsort(again.as_mut_ptr() as *mut c_void, again.len(), 8, compare) };
    assert_eq!(numbers, again);
}

// ---- panics ----

fn fall(depth: u32) {
    let _caller = Caller(depth);

    if depth == 0 {
        panic!("at the bottom");
    }
    fall(depth - 1);
}

fn panics() {
    for depth in 0..12 {
        let caught = catch_unwind(|| {
            let inner = catch_unwind(|| fall(depth));
            call();
            if let Err(reason) = inner {
                let _caller = Caller(0);
                resume_unwind(reason);
            }
        });
        assert!(caught.is_err());
        call();
    }
    extern "C-unwind" fn falls(_: *const c_void, _: *const c_void) -> c_int {
        fall(3);
        0
    }
    let mut two = [1u64, 2];
    let through_c = catch_unwind(AssertUnwindSafe(|| unsafe {
        qsort(two.as_mut_ptr() as *mut c_void, 2, 8, falls)
    }));
    assert!(through_c.is_err());
}

// ---- large and deep stacks ----

fn descend<const BYTES: usize>(depth: u32) -> u64 {
    let mut space = [depth as u8; BYTES];

    if depth == 0 {
        call();
    } else {
        space[1] = descend::<BYTES>(depth - 1) as u8;
    }
    std::hint::black_box(&mut space)
        .iter()
        .map(|&byte| byte as u64)
        .sum()
}

// ---- tasks ----

struct Later(u32);

impl Future for Later {
    type Output = u32;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u32> {
        call();
        self.0 -= 1;
        context.waker().wake_by_ref();
        if self.0 == 0 {
            Poll::Ready(1)
        } else {
            Poll::Pending
        }
    }
}

struct Nothing;

impl Wake for Nothing {
    fn wake(self: Arc<Self>) {
        call();
    }
}

async fn both() -> u32 {
    let first = Later(2).await;
    let second = async { Later(3).await + 1 }.await;
    first + second
}

fn tasks() {
    let waker = Arc::new(Nothing).into();
    let mut task: Pin<Box<dyn Future<Output = u32>>> = Box::pin(both());

    while task
        .as_mut()
        .poll(&mut Context::from_waker(&waker))
        .is_pending()
    {}
}

// ---- threads ----

thread_local!(static LAST: RefCell<Option<Caller>> = const { RefCell::new(None) });

fn set_current() {
    check(unsafe { cuCtxSetCurrent(CONTEXT.load(Ordering::Relaxed) as *mut c_void) });
}

fn all() {
    static ONCE: Once = Once::new();

    set_current();
    ONCE.call_once(call);
    closures();
    sort();
    panics();
    tasks();
    for depth in (0..60).step_by(7) {
        descend::<16>(depth);
        descend::<700>(depth);
    }
}

fn main() {
    let mut context = null_mut();
    let (mut device, mut memory) = (0, 0);

    unsafe {
        check(cuInit(0));
        check(cuDeviceGet(addr_of_mut!(device), 0));
        check(cuDevicePrimaryCtxRetain(&mut context, device));
        CONTEXT.store(context as usize, Ordering::Relaxed);
        set_current();
        check(cuMemAlloc_v2(&mut memory, 4));
    }
    MEMORY.store(memory, Ordering::Relaxed);
    set_hook(Box::new(|_| call()));
    all();
    let threads: Vec<_> = (0..3)
        .map(|number| {
            thread::Builder::new()
                .name(format!("worker {number}"))
                .spawn(|| {
                    LAST.with(|last| *last.borrow_mut() = Some(Caller(0)));
                    all()
                })
        })
        .collect();
    for thread in threads {
        thread.unwrap().join().unwrap();
    }
    thread::scope(|scope| {
        scope.spawn(|| {
            set_current();
            descend::<100>(10)
        });
    });
}
